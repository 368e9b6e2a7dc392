--- leave(status, message): end the script with that exit status.
--
-- It raises a table { iolua_exit = status, message = message }. The runner unwinds, so that all
-- closers run, prints the message to stderr and exits with the status; pcall sees it as any
-- other error, and so does a finalizer, where Lua drops errors: os.exit leaves from there.
local Leave = {}
Leave.__index = Leave
function Leave:__tostring() return self.message or ("exit %d"):format(self.iolua_exit) end

-- An exit status has 8 bits: more would be cut, and 256 become a success.
local function check(status)
  local whole = math.type(status) and math.tointeger(status)
  if whole and whole >= 0 and whole <= 255 then return whole end
  local near = type(status) ~= "number" and 1 or status ~= status and 1
    or math.tointeger(math.max(0, math.min(255, status // 1)))
  error(("leave: %s is no exit status: it must be 0 to 255; the nearest is %d"):format(
    tostring(status), near), 3)
end

--- End the script: 0 done, 1 failed, 2 usage.
---@param status integer   0 to 255
---@param message? string  printed to stderr as "iolua: message"
local function leave(status, message)
  if message ~= nil and type(message) ~= "string" then
    error(("leave: the message is a %s, not a string"):format(type(message)), 2)
  end
  error(setmetatable({ iolua_exit = check(status), message = message }, Leave), 0)
end

return leave
