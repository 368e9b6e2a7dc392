--- What the prompt does with a line: compile, run and show it, complete names, explain them.
--
-- src/repl.c reads the lines. The functions here print nothing, except run and what is typed.
local core = require "iolua.core"
local show = require "iolua.show"

local repl = {}

local PASS = "return (function(...) return ... end)(%s\n)"

-- Compile a text: an expression first, then a statement. `=e` is `return e`.
local function compile(text)
  text = text:gsub("^%s*=", "return ", 1)
  local fn = load("return " .. text, "=stdin", "t")
  -- As no tail call: an error of what is called names this line.
  if fn then return load(PASS:format(text), "=stdin", "t") or fn end
  return load(text, "=stdin", "t")
end

local LONG = 16384              -- bytes of a chunk that is not compiled after every line

-- The lines of the chunk that is being typed.
local chunk = { bytes = 0 }

--- Forget the lines typed so far.
function repl.reset()
  chunk = { bytes = 0 }
end

--- Take one more line.
---@param line string
---@return function? fn      the chunk is complete
---@return string? text      all its lines, when it is complete or wrong
---@return string? message   a syntax error
function repl.add(line)
  chunk[#chunk + 1] = line
  chunk.bytes = chunk.bytes + #line
  if chunk.bytes > LONG then
    chunk.nesting = chunk.nesting or require "iolua.repl.nesting".new(table.concat(chunk, "\n", 1,
      #chunk - 1))
    if chunk.nesting:add(line) then return nil end
  end
  local text = table.concat(chunk, "\n")
  local fn, message = compile(text)
  if not fn and message:sub(-5) == "<eof>" then return nil end
  repl.reset()
  return fn, text, message
end

local function is_hist(value)
  return type(value) == "userdata" and tostring(value):find("^hist") and value.buckets and true
end

--- The text that is shown for one result.
function repl.text(value)
  local ok, picture = pcall(function()
    return is_hist(value) and require("iolua.repl.picture")(value)
  end)
  if ok and picture then return picture end
  return show.text(value)
end

--- Run a compiled line and show what it returns.
function repl.run(fn)
  local results = table.pack(fn())
  local texts = {}
  for i = 1, results.n do texts[i] = repl.text(results[i]) end
  if results.n > 0 then print(table.concat(texts, "\t")) end
  local word = core.run.interrupted()
  if word then io.stderr:write("iolua: ", word, ": what was measured until then is kept\n") end
end

-- The names that can follow `value.` or `value:`.
local function names_of(value, seen)
  local names, meta = {}, debug.getmetatable(value)
  local function add(t)
    for key in next, t do
      if type(key) == "string" and key:find("^[%a_][%w_]*$") then names[key] = true end
    end
  end
  if type(value) == "table" then add(value) end
  if type(meta) ~= "table" or seen > 3 then return names end
  if type(meta.__parts) == "table" then add(meta.__parts) end
  local index = rawget(meta, "__index")
  if type(index) == "table" then
    for key in pairs(names_of(index, seen + 1)) do names[key] = true end
  end
  return names
end

-- The value of "a.b.c" without running anything but field access of tables; nil if there is none.
local function value_of(path)
  local value = _G
  for name in path:gmatch("[%a_][%w_]*") do
    if type(value) == "table" then
      local ok, field = pcall(function() return value[name] end)
      value = ok and field or nil
    else
      local index = (debug.getmetatable(value) or {}).__index
      value = type(index) == "table" and rawget(index, name) or nil
    end
    if value == nil then return nil end
  end
  return value
end

local KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function",
  "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until",
  "while" }

local function common_prefix(list)
  local prefix = list[1]
  for _, name in ipairs(list) do
    while name:sub(1, #prefix) ~= prefix do prefix = prefix:sub(1, -2) end
  end
  return prefix
end

-- Names in columns over 78 characters.
local function columns(list)
  local width, out = 0, {}
  for _, name in ipairs(list) do width = math.max(width, #name + 2) end
  local per_line = math.max(1, 78 // width)
  for i, name in ipairs(list) do
    local last = i % per_line == 0 or i == #list
    out[i] = last and name .. (i < #list and "\n" or "") or name .. (" "):rep(width - #name)
  end
  return table.concat(out)
end

--- Complete the name before the cursor.
---@param text string  the line up to the cursor
---@return string? insert   what can be added for sure
---@return string? list     what is possible, when nothing can be added
function repl.complete(text)
  local path, start = text:match("([%a_][%w_%.:]*[%.:])([%w_]*)$")
  local names
  if path then
    local value = value_of(path)
    if value == nil then return nil end
    names = names_of(value, 0)
  else
    start = text:match("[%a_][%w_]*$")
    if not start then return text:find("^%s*$") and "  " or nil end
    names = names_of(_G, 0)
    for _, word in ipairs(KEYWORDS) do names[word] = true end
  end
  local list = {}
  for name in pairs(names) do
    if name:sub(1, #start) == start then list[#list + 1] = name end
  end
  if #list == 0 then return nil end
  table.sort(list)
  local insert = common_prefix(list):sub(#start + 1)
  if insert ~= "" or #list == 1 then return insert end
  return nil, columns(list)
end

-- The comment lines that end right above line n of the lines of a file.
local function comment_above(lines, n)
  local first = n
  while first > 1 and lines[first - 1]:find("^%s*%-%-") do first = first - 1 end
  local out = {}
  for i = first, n - 1 do
    out[#out + 1] = (lines[i]:gsub("^%s*%-%-%-?%s?", ""):gsub("^@(%a+)%s*", "%1: "))
  end
  return #out > 0 and table.concat(out, "\n") or nil
end

local function lines_of(path)
  local file, lines = io.open(path), {}
  if not file then return nil end
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  return lines
end

-- The comment above `name = ` in the file of a module: for fields that are C functions.
local function about_field(module, value)
  local path = package.searchpath(module, package.path)
  local lines = path and lines_of(path)
  local loaded = package.loaded[module]
  for key, field in pairs(type(loaded) == "table" and loaded or {}) do
    if lines and rawequal(field, value) and type(key) == "string" then
      for n, line in ipairs(lines) do
        if line:find("^%s*" .. key .. " = ") then return comment_above(lines, n) end
      end
    end
  end
end

-- The comment above the Lua function, from its source.
local function about_function(fn)
  local info = debug.getinfo(fn, "S")
  local lines = info.source:sub(1, 1) == "@" and lines_of(info.source:sub(2))
  local text = lines and comment_above(lines, info.linedefined)
  if text then return text end
  if info.what == "C" then return about_field("iolua", fn) or "a function in C" end
  return ("a function of %s:%d"):format(info.short_src, info.linedefined)
end

-- The comment that a module's file begins with.
local function about_module(name)
  local path = package.searchpath(name, package.path)
  local lines = path and lines_of(path)
  if not lines then return nil end
  local last = 1
  while lines[last + 1] and lines[last + 1]:find("^%-%-") do last = last + 1 end
  return comment_above(lines, last + 1)
end

local function module_of(value)
  for name, module in pairs(package.loaded) do
    if type(name) == "string" and name:find("^iolua%.") and rawequal(module, value) then
      return name
    end
  end
end

local function sorted(names)
  local list = {}
  for name in pairs(names) do list[#list + 1] = name end
  table.sort(list)
  return columns(list)
end

local OVERVIEW = [[
A line is an expression, whose value is shown, or a statement. Tab completes, ^C stops what runs,
^D leaves. help(iolua.job), help "job" and help(x) explain; doctor() says what works here.
iolua has:]]

--- The text of help(x).
function repl.help(x)
  local iolua = require "iolua"
  if x == nil or x == iolua then
    return OVERVIEW .. "\n" .. sorted(debug.getmetatable(iolua).__parts)
  end
  if type(x) == "string" then
    return about_module("iolua." .. x) or about_module(x) or
      ("there is no part %q"):format(x)
  end
  local module = module_of(x)
  if module then return about_module(module) end
  if type(x) == "function" then
    for name in pairs(package.loaded) do
      local text = type(name) == "string" and name:find("^iolua%.") and about_field(name, x)
      if text then return text end
    end
    return about_function(x)
  end
  local names = names_of(x, 0)
  if next(names) == nil then return type(x) .. " " .. show.text(x) end
  return ("a %s with:\n%s"):format(type(x), sorted(names))
end

-- What the prompt offers beside iolua.
function help(...) print(repl.help(...)) end -- luacheck: ignore

function doctor() require("iolua.doctor").main() end -- luacheck: ignore

return repl
