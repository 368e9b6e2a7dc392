--- Is a chunk of Lua still open? A cheap answer, line by line.
--
-- Pasting a megabyte into one long string would take minutes if all of it were compiled after
-- every line. This counts what opens and closes; only when nothing is open it is worth
-- compiling. It need not be exact: whether a chunk is right, the compiler says.
local nesting = {}
nesting.__index = nesting

local STEP = { ["do"] = 1, ["function"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1,
  ["until"] = -1, ["("] = 1, ["{"] = 1, ["["] = 1, [")"] = -1, ["}"] = -1, ["]"] = -1 }

-- The end of the quoted text that begins at `at`, or the end of the line.
local function skip_quoted(line, at)
  local quote = line:sub(at, at)
  at = at + 1
  while at <= #line do
    local c = line:sub(at, at)
    if c == quote then return at + 1 end
    at = at + (c == "\\" and 2 or 1)
  end
  return at
end

-- Take what is at `at`: returns where the next begins.
local function token(self, line, at)
  local equals = line:match("^%[(=*)%[", at) or line:match("^%-%-%[(=*)%[", at)
  if equals then
    self.closer = "]" .. equals .. "]"
    return line:find("[", at, true) + #equals + 2
  end
  if line:find("^%-%-", at) then return #line + 1 end
  if line:find("^[\"']", at) then return skip_quoted(line, at) end
  local word = line:match("^[%a_][%w_]*", at) or line:sub(at, at)
  self.depth = self.depth + (STEP[word] or 0)
  return at + #word
end

--- Count one more line.
---@param line string
---@return boolean open  is something still open after it?
function nesting:add(line)
  local at = 1
  while at <= #line do
    if self.closer then
      local _, last = line:find(self.closer, at, true)
      if not last then return true end
      self.closer, at = nil, last + 1
    else
      at = token(self, line, line:find("%S", at) or #line + 1)
    end
  end
  return self.depth > 0 or self.closer ~= nil
end

--- Begin with the text so far.
---@param text string
function nesting.new(text)
  local self = setmetatable({ depth = 0 }, nesting)
  for line in (text .. "\n"):gmatch("(.-)\n") do self:add(line) end
  return self
end

return nesting
