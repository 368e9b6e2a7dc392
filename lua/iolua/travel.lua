--- Functions on their way to another Lua state: as bytes, with their upvalues.
--
-- What travels: nil, booleans, numbers, strings, tables of these without a metatable, Lua
-- functions, and iolua.array, which is shared and not copied. Library functions and modules go
-- by name and are found again there. Functions that share an upvalue share it there as well.
-- Globals do not travel: the other state has the standard library and `require`.
local core = require "iolua.core"

local travel = {}

local pack, unpack = string.pack, string.unpack

-- Where a module or a function of one is found again: value -> { module [, key] }.
local function known_names()
  local names = {}
  for module, value in pairs(package.loaded) do
    if type(value) == "table" then
      names[value] = names[value] or { module }
      for key, member in next, value do
        local by_name = type(member) == "function" and type(key) == "string"
          and (module ~= "_G" or debug.getinfo(member, "S").what == "C")
        if by_name and not names[member] then names[member] = { module, key } end
      end
    end
  end
  return names
end

local encode                            -- by type of the value

local function refuse(path, value, why)
  error(("%s is a %s%s and cannot travel to a worker"):format(path, type(value), why or ""), 0)
end

local function put(w, ...) w.out[#w.out + 1] = pack(...) end

-- A value that was met before is the same one there.
local function repeated(w, value)
  local id = w.ids[value]
  if id then put(w, "c1I4", "r", id) return true end
  w.count = w.count + 1
  w.ids[value] = w.count
  return false
end

local function named(w, value)
  local name = w.names[value]
  if not name then return false end
  if name[2] then put(w, "c1s4s4", "c", name[1], name[2]) else put(w, "c1s4", "m", name[1]) end
  return true
end

local function any(w, value, path)
  local kind = type(value)
  local write = encode[kind] or function() refuse(path, value) end
  write(w, value, path)
end

local function upvalue(w, fn, i, path)
  local name, value = debug.getupvalue(fn, i)
  if name == "_ENV" then put(w, "c1", "E") return end
  local cell = debug.upvalueid(fn, i)
  if w.cells[cell] then put(w, "c1I4I4", "R", table.unpack(w.cells[cell])) return end
  w.cells[cell] = { w.ids[fn], i }
  put(w, "c1", "U")
  any(w, value, ("%s: upvalue %q"):format(path:match("^[^:]*"), name))
end

encode = {
  ["nil"] = function(w) put(w, "c1", "n") end,
  boolean = function(w, value) put(w, "c1", value and "t" or "f") end,
  number = function(w, value)
    if math.type(value) == "integer" then put(w, "c1i8", "i", value)
    else put(w, "c1d", "d", value) end
  end,
  string = function(w, value) put(w, "c1s4", "s", value) end,
  table = function(w, value, path)
    if named(w, value) or repeated(w, value) then return end
    if getmetatable(value) ~= nil then refuse(path, value, " with a metatable") end
    put(w, "c1", "T")
    for key, member in next, value do
      any(w, key, path .. " (a key)")
      any(w, member, ("%s[%s]"):format(path, type(key) == "string" and ("%q"):format(key)
        or tostring(key)))
    end
    put(w, "c1", "e")
  end,
  ["function"] = function(w, fn, path)
    if named(w, fn) or repeated(w, fn) then return end
    local info = debug.getinfo(fn, "Su")
    if info.what == "C" then refuse(path, fn, " of C outside of any module") end
    put(w, "c1s4I1", "F", string.dump(fn), info.nups)
    for i = 1, info.nups do upvalue(w, fn, i, path) end
  end,
  userdata = function(w, value, path)
    if not core.array.is(value) then
      local class = tostring(value):match("^(iolua%.%w+)") or tostring(value):match("^(%w+)")
      refuse(path, value, class and " (" .. class .. ")")
    end
    if repeated(w, value) then return end
    w.arrays[#w.arrays + 1] = value
    put(w, "c1I4", "a", #w.arrays)
  end,
}

--- The bytes of named functions, and the arrays they share.
---@param functions table<string, function>
---@return string code
---@return table arrays
function travel.pack(functions)
  local w = { out = {}, ids = {}, cells = {}, count = 0, arrays = {}, names = known_names() }
  local order = {}
  for name in pairs(functions) do order[#order + 1] = name end
  table.sort(order)
  put(w, "I4", #order)
  for _, name in ipairs(order) do
    put(w, "s4", name)
    any(w, functions[name], name)
  end
  return table.concat(w.out), w.arrays
end

local decode                            -- by tag

local function one(r, format)
  local value
  value, r.at = unpack(format, r.code, r.at)
  return value
end

local function two(r, format)
  local a, b
  a, b, r.at = unpack(format, r.code, r.at)
  return a, b
end

local function read(r) return decode[one(r, "c1")](r) end

local function keep(r, value)
  r.values[#r.values + 1] = value
  return value
end

local function read_upvalue(r, fn, i)
  local tag = one(r, "c1")
  if tag == "E" then
    debug.upvaluejoin(fn, i, r.env, 1)
  elseif tag == "R" then
    local id, n = two(r, "I4I4")
    debug.upvaluejoin(fn, i, r.values[id], n)
  else
    debug.setupvalue(fn, i, (read(r)))
  end
end

decode = {
  n = function() return nil end,
  t = function() return true end,
  f = function() return false end,
  i = function(r) return one(r, "i8") end,
  d = function(r) return one(r, "d") end,
  s = function(r) return one(r, "s4") end,
  r = function(r) return r.values[one(r, "I4")] end,
  m = function(r) return require(one(r, "s4")) end,
  c = function(r)
    local module, key = two(r, "s4s4")
    return require(module)[key]
  end,
  a = function(r) return keep(r, r.arrays[one(r, "I4")]) end,
  T = function(r)
    local value = keep(r, {})
    while true do
      local tag = one(r, "c1")
      if tag == "e" then return value end
      local key = decode[tag](r)
      value[key] = read(r)
    end
  end,
  F = function(r)
    local code, n = two(r, "s4I1")
    local fn = keep(r, assert(load(code, "=worker", "b")))
    for i = 1, n do read_upvalue(r, fn, i) end
    return fn
  end,
}

--- The functions of travel.pack in this state.
---@param code string
---@param arrays table
---@return table<string, function>
function travel.unpack(code, arrays)
  local r = { code = code, at = 1, values = {}, arrays = arrays, env = load("return _ENV") }
  local functions = {}
  for _ = 1, one(r, "I4") do
    local name = one(r, "s4")
    functions[name] = read(r)
  end
  return functions
end

return travel
