--- The rules of the architecture, as functions of a file's path and text.
--
-- Each gives a list of violations, one sentence each. arch_test.lua applies them to the tree
-- and proves on made-up files that they find what they are for.
local arch = {}

-- One owner per library: header pattern -> the only files that may include it.
arch.OWNERS = {
  { "^liburing", "^src/core/ring%l*%.[ch]$" },
  { "^libdevmapper", "^src/core/dm%.c$" },
  { "^hwloc", "^src/core/topo%.c$" },
  { "^blkid/", "^src/core/blk%.c$" },
  { "^editline/", "^src/repl%.c$" },
  { "^histedit", "^src/repl%.c$" },
  { "^readline/", "^src/repl%.c$" },
  { "^xxhash", "^src/core/fill%.c$" },
  { "^jansson", "^$" },
  { "^lua", "^src/bind/", "^src/[^/]+$" },
  { "^lauxlib", "^src/bind/", "^src/[^/]+$" },
}

-- Lua modules by level; a module requires its own level or lower ones. Level 0 is pure: it
-- runs under a stock lua5.4 and never needs iolua.core. What is not listed is level 1.
arch.LEVELS = {
  [0] = { "units", "schema", "stats", "stats/.*", "design", "strict", "nearest", "leave", "random",
          "report/number", "shares", "distribution", "locality" },
  [2] = { "workload", "workload/.*", "program", "program/.*", "knee", "steady", "experiment",
          "experiment/.*", "store",
          "report", "report/.*", "fio", "fio/.*", "verdict" },
  [3] = { "init", "options", "repl", "doctor", "command/.*" },
}

-- Packages from outside, and the only module that may ask for each.
arch.PACKAGES = { argparse = "options", dkjson = "report/json" }

-- Files that may be longer than FILE_LINES, and how long: each a decision of its own.
arch.LONGER = {}
arch.FILE_LINES, arch.FUNCTION_LINES, arch.COLUMNS = 450, 60, 99

local function lines_of(text)
  local lines = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines
end

local function matches(name, patterns, from)
  for i = from or 1, #patterns do
    if name:find(patterns[i]) then return true end
  end
  return false
end

local function layer_of(path)
  return path:match("^src/(%w+)/") or path:match("^src/[^/]+$") and "main"
end

-- Layers a file's quoted includes may come from: its own and the one below.
local BELOW = { core = { core = true }, bind = { bind = true, core = true },
                main = { main = true, bind = true } }

--- #include lines: layers and owners.
function arch.includes(path, text)
  local found, layer = {}, layer_of(path)
  for kind, header in text:gmatch('#%s*include%s*([<"])([^>"]+)[>"]') do
    local of = header:match("^(%w+)/") or "main"
    if kind == '"' and BELOW[layer] and not BELOW[layer][of] then
      found[#found + 1] = ("%s includes %s, which is not its layer's or the one below's"):format(
        path, header)
    end
    for _, owner in ipairs(arch.OWNERS) do
      if header:find(owner[1]) and not matches(path, owner, 2) then
        found[#found + 1] = ("%s includes <%s>, which belongs to others"):format(path, header)
      end
    end
  end
  return found
end

-- C without comments and strings.
local function bare(text)
  text = text:gsub('\\.', ""):gsub("/%*.-%*/", ""):gsub("//[^\n]*", "")
  return (text:gsub('"[^"\n]*"', '""'))
end

local NOISE = { "printf", "vprintf", "puts", "putchar", "perror", "exit", "_exit", "abort",
                "errx", "warnx", "syslog" }

--- The core neither prints nor ends the process.
function arch.quiet(path, text)
  local found, code = {}, bare(text)
  if layer_of(path) ~= "core" then return found end
  for _, name in ipairs(NOISE) do
    if code:find("%f[%w_]" .. name .. "%s*%(") then
      found[#found + 1] = ("%s calls %s"):format(path, name)
    end
  end
  for _, stream in ipairs { "stdout", "stderr" } do
    if code:find("%f[%w_]" .. stream .. "%f[^%w_]") then
      found[#found + 1] = ("%s uses %s"):format(path, stream)
    end
  end
  return found
end

local function level_of(module)
  for level = 0, 3 do
    for _, pattern in ipairs(arch.LEVELS[level] or {}) do
      if module:find("^" .. pattern .. "$") then return level end
    end
  end
  return 1
end

--- require calls of a module: levels, packages, and no core below level 1.
function arch.requires(path, text)
  local found, module = {}, path:match("^lua/iolua/(.*)%.lua$")
  if not module then return found end
  local level = level_of(module)
  local code = text:gsub("%-%-[^\n]*", "")
  for name in code:gmatch('require[%s,%(]*"([^"]+)"') do
    local other = name:match("^iolua%.(.*)$")
    other = other and other:gsub("%.", "/")
    local wrong
    if other == "core" then wrong = level == 0 and "is pure, and core is not"
    elseif other then
      wrong = level_of(other) > level and ("level %d is above its own, %d"):format(
        level_of(other), level)
    elseif name ~= "iolua" then
      wrong = arch.PACKAGES[name] ~= module and "that package is not its own"
    elseif level < 3 then wrong = "parts do not require the whole" end
    if wrong then found[#found + 1] = ("%s requires %s: %s"):format(path, name, wrong) end
  end
  return found
end

-- First and last line of every function: C's braces in the first column, Lua's `end` at the
-- indentation of `function`.
local function c_functions(lines)
  local spans, first = {}, nil
  for i, line in ipairs(lines) do
    if line == "{" then first = i
    elseif line == "}" and first then
      spans[#spans + 1] = { first - 1, i }
      first = nil
    end
  end
  return spans
end

local function lua_functions(lines)
  local spans = {}
  for i, line in ipairs(lines) do
    local indent = line:match("^(%s*)local function ") or line:match("^(%s*)function ")
    if indent and not line:find("%f[%w]end%f[^%w]") then
      for j = i + 1, #lines do
        if lines[j]:match("^" .. indent .. "end") then
          spans[#spans + 1] = { i, j }
          break
        end
      end
    end
  end
  return spans
end

--- Lengths of file, functions and lines (Lua's lines are luacheck's).
function arch.lengths(path, text)
  local found, lines = {}, lines_of(text)
  local most = arch.LONGER[path] or arch.FILE_LINES
  if #lines > most then
    found[1] = ("%s has %d lines, more than %d"):format(path, #lines, most)
  end
  for i, line in ipairs(path:find("%.[ch]$") and lines or {}) do
    if (utf8.len(line) or #line) > arch.COLUMNS then
      found[#found + 1] = ("%s:%d is wider than %d"):format(path, i, arch.COLUMNS)
    end
  end
  local spans = path:find("%.lua$") and lua_functions(lines) or c_functions(lines)
  for _, span in ipairs(spans) do
    if span[2] - span[1] + 1 > arch.FUNCTION_LINES then
      found[#found + 1] = ("%s:%d has a function of %d lines, more than %d"):format(path,
        span[1], span[2] - span[1] + 1, arch.FUNCTION_LINES)
    end
  end
  return found
end

arch.RULES = { "includes", "quiet", "requires", "lengths" }

--- All violations of one file.
function arch.check(path, text)
  local found = {}
  for _, rule in ipairs(arch.RULES) do
    local some = arch[rule](path, text)
    table.move(some, 1, #some, #found + 1, found)
  end
  return found
end

return arch
