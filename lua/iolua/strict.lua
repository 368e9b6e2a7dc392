--- No undeclared globals: a mistyped name raises where it is used, not hours later.
--
-- strict.install() watches the global table. Reading a global that does not exist raises
-- and names the nearest one that does; so does assigning a new one in a script. Allowed
-- are names declared by strict.declare, assignments by C code, and assignments typed on a
-- command line (-e, LUA_INIT, standard input, the REPL), which are there to be shared.
local nearest = require "iolua.nearest"

local strict = {}

-- Absent in some ways of running, and looked for in all: not a mistake.
local OPTIONAL = { arg = true, _PROMPT = true, _PROMPT2 = true, LUA_INIT = true }

-- Whether the function at `level` may make a global: C, or a chunk that is no file's.
local function may_assign(level)
  local info = debug.getinfo(level + 1, "S")
  if not info or info.what == "C" then return true end
  return info.what == "main" and info.source:sub(1, 1) == "="
end

local function read(declared)
  return function(env, name)
    if declared[name] or OPTIONAL[name] then return nil end
    local known = nearest.keys(env)
    local near = nearest.find(name, known)
    error(("global %q is not declared%s"):format(tostring(name),
      near and nearest.hint(name, known) or ""), 2)
  end
end

local function assign(declared)
  return function(env, name, value)
    if not declared[name] and not OPTIONAL[name] and not may_assign(2) then
      error(("global %q is not declared; write local %s"):format(tostring(name),
        tostring(name)), 2)
    end
    declared[name] = true
    rawset(env, name, value)
  end
end

--- Watch a table of globals.
---@param env? table  default _G. It must have no metatable of another's making
function strict.install(env)
  env = env or _G
  local meta = getmetatable(env)
  if meta and meta.strict then return end
  if meta then error("the table of globals already has a metatable", 2) end
  local declared = {}
  setmetatable(env, { strict = declared, __index = read(declared),
                      __newindex = assign(declared) })
end

--- Let these names be nil, read and assigned.
---@param env? table
function strict.declare(env, ...)
  local meta = getmetatable(env or _G)
  if not meta or not meta.strict then return end
  for _, name in ipairs { ... } do meta.strict[name] = true end
end

--- Stop watching.
---@param env? table
function strict.remove(env)
  env = env or _G
  local meta = getmetatable(env)
  if meta and meta.strict then setmetatable(env, nil) end
end

return strict
