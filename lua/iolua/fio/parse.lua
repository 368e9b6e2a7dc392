--- fio job files as a list of jobs, each with its options in order: syntax only.
--
-- [global] sections apply to the jobs after them. `include FILE` is read by the caller's
-- function; ${NAME} comes from the caller's environment; an option without a value is "1".
local parse = {}

local DEPTH_MAX = 16            -- includes within includes

local function failure(state, line, text, ...)
  return nil, ("%s:%d: " .. text):format(state.path, line, ...)
end

-- ${NAME} replaced; $pagesize and its like too. nil and a name that is not set.
local function expanded(state, value)
  local missing
  value = value:gsub("%${([^}]*)}", function(name)
    local found = state.env(name)
    missing = missing or not found and name
    return found
  end)
  for name, number in pairs(state.keywords) do
    value = value:gsub("%$" .. name .. "%f[^%w_]", function() return tostring(number) end)
  end
  return value, missing
end

local function copied(list)
  return table.move(list, 1, #list, 1, {})
end

-- One option line into the section being read.
local function option(state, number, line)
  local key, value = line:match("^([%w_%-]+)%s*=%s*(.-)$")
  if not key then key, value = line:match("^([%w_%-]+)$"), "1" end
  if not key then return failure(state, number, "%q is no option", line) end
  if not state.section then return failure(state, number, "%q is outside a section", line) end
  local text, missing = expanded(state, value)
  if missing then return failure(state, number, "the variable %s is not set", missing) end
  local list = state.section.options
  list[#list + 1] = { key = key, value = text, line = number, path = state.path }
  return true
end

local function section(state, name)
  if name == "global" then
    state.section = { options = state.global }
  else
    state.section = { name = name, options = copied(state.global) }
    state.jobs[#state.jobs + 1] = state.section
  end
  return true
end

local read_text

local function include(state, number, path)
  if state.depth >= DEPTH_MAX then return failure(state, number, "includes go too deep") end
  local text, message = state.read(path, state.path)
  if not text then return failure(state, number, "include %s: %s", path, tostring(message)) end
  local outer = state.path
  state.path, state.depth = path, state.depth + 1
  local ok, why = read_text(state, text)
  state.path, state.depth = outer, state.depth - 1
  return ok, why
end

local function read_line(state, number, line)
  if line == "" or line:find("^[;#]") then return true end
  line = line:gsub("%s+[;#].*$", "")
  local header = line:match("^%[(.+)%]$")
  local included = line:match("^include%s+(.+)$")
  if header then return section(state, header) end
  if included then return include(state, number, included) end
  return option(state, number, line)
end

read_text = function(state, text)
  local number = 0
  for raw in (text:gsub("\n?$", "\n", 1)):gmatch("(.-)\r?\n") do
    number = number + 1
    local ok, message = read_line(state, number, raw:match("^%s*(.-)%s*$"))
    if not ok then return nil, message end
  end
  return true
end

--- The jobs of a file.
---@param text string
---@param about? table  path: its name in messages; env(name) -> value; read(path, from) -> text;
---  keywords: numbers of $pagesize, $mb_memory and $ncpus
---@return { name: string, options: { key: string, value: string, line: integer }[] }[]? jobs
---@return string? message  "path:line: reason"
function parse.text(text, about)
  about = about or {}
  local state = { path = about.path or "job file", depth = 0, jobs = {}, global = {},
    env = about.env or function() end, keywords = about.keywords or {},
    read = about.read or function() return nil, "not read here" end }
  local ok, message = read_text(state, text)
  if not ok then return nil, message end
  return state.jobs
end

return parse
