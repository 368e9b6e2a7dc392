-- The command line of iolua: Lua's habits, the paths, error reports, exit statuses, signals.
local t = require "check"

local iolua = assert(os.getenv("IOLUA"))
local folder = t.run("mktemp -d"):match("%S+")

local function script(name, text)
  local path = folder .. "/" .. name
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

-- Runs the binary with what env and arguments say; output (both streams) and status.
local function run(arguments, env)
  return t.run(("cd %s && env -u LUA_PATH -u LUA_CPATH %s %s %s"):format(folder, env or "", iolua,
    arguments))
end

local function prints(name, arguments, want, status, env)
  t.case(name, function()
    local output, code = run(arguments, env)
    t.equal(output, want)
    t.equal(code, status or 0, "status")
  end)
end

script("args.lua", "#!/usr/bin/env iolua\nprint(arg[0], #arg, arg[-1] ~= nil, ...)")
script("chunk.lua", "print(x)")
script("mod.lua", "return 'mod of the script'")
script("uses.lua", "print((require 'mod'))")

prints("a script gets arg and ..., and its #! line is skipped", "args.lua a 'b c'",
  "args.lua\t2\ttrue\ta\tb c\n")
prints("-e runs before the script", "-e 'x = 7' chunk.lua", "7\n")
prints("-e may be joined to its text", "'-eprint(1)'", "1\n")
prints("-l requires into a global", "-l mod -e 'print(mod)'", "mod of the script\n", 0,
  "LUA_PATH='" .. folder .. "/?.lua'")
prints("-l g=name gives the global another name", "-l m=mod -e 'print(m)'",
  "mod of the script\n", 0, "LUA_PATH='" .. folder .. "/?.lua'")
prints("-- ends the options", "-- args.lua -x", "args.lua\t1\ttrue\t-x\n")
prints("- is standard input", "- 1 2 <<'E'\nprint(arg[0], ...)\nE", "-\t1\t2\n")
prints("without a script standard input is run", "<<'E'\nprint(6 * 7)\nE", "42\n")
prints("-W turns warnings on", "-W -e 'warn(\"w\")'", "Lua warning: w\n")
prints("LUA_INIT runs first", "-e 'print(x)'", "3\n", 0, "LUA_INIT='x = 3'")
prints("the versioned LUA_INIT wins", "-e 'print(x)'", "4\n", 0,
  "LUA_INIT='x = 3' LUA_INIT_5_4='x = 4'")
prints("LUA_INIT may name a file", "-e 'print(2)'", "nil\n2\n", 0,
  "LUA_INIT=@" .. folder .. "/chunk.lua")
prints("-E ignores LUA_INIT", "-E -e 'print(x)'", "nil\n", 0, "LUA_INIT='x = 3'")
prints("the versioned LUA_PATH wins", "-e 'print((require \"mod\"))'", "mod of the script\n", 0,
  "LUA_PATH=/nowhere/?.lua LUA_PATH_5_4='" .. folder .. "/?.lua'")
prints("the script's folder is on the path", "../" .. folder:match("[^/]+$") .. "/uses.lua",
  "mod of the script\n")
prints("iolua is a global of -e", "-e 'print(iolua == require \"iolua\")'", "true\n")
prints("os.exit gives the status", "-e 'os.exit(7)'", "", 7)
prints("os.exit(true) is 0", "-e 'os.exit(true)'", "")
prints("os.exit(false) is 1", "-e 'os.exit(false)'", "", 1)
prints("os.exit runs the closers of the script", [[-e '
  local x <close> = setmetatable({}, { __close = function() print("closed") end })
  os.exit(5)']], "closed\n", 5)
prints("an error table with iolua_exit ends with that status and its message",
  [[-e 'error { iolua_exit = 2, message = "need a file" }']], "iolua: need a file\n", 2)
prints("a table as error object is printed", "-e 'error { a = 1, { 2 } }'",
  "iolua: (error object is a table) { { 2 }, a = 1 }\n", 1)
prints("an error object with a message shows it", "-e 'error { message = \"why\" }'",
  "iolua: why\n", 1)
prints("nil as error object is printed", "-e 'error(nil)'",
  "iolua: (error object is a nil) nil\n", 1)
prints("marked I/O errors give status 3", "-e 'require \"iolua.core\".run.mark_errors()'", "", 3)
prints("a failed script outranks I/O errors",
  "-e 'require \"iolua.core\".run.mark_errors() error({}, 0)'",
  "iolua: (error object is a table) {}\n", 1)
prints("what was not put back outranks all",
  "-e 'require \"iolua.core\".run.mark_unrestored() os.exit(9)'", "", 4)

t.case("an error has a traceback and status 1", function()
  local output, code = run(script("bad.lua", "local function f() error 'boom' end\nf()"))
  t.contains(output, "iolua: " .. folder .. "/bad.lua:1: boom\nstack traceback:\n")
  t.contains(output, "bad.lua:2: in main chunk")
  t.equal(code, 1)
end)

t.case("a script that is not there is status 1", function()
  local output, code = run("nosuch.lua")
  t.contains(output, "cannot open nosuch.lua")
  t.equal(code, 1)
end)

for _, option in ipairs { "-x", "--nosuch", "-e", "-vx" } do
  t.case(("%s is a usage error"):format(option), function()
    local output, code = run(option)
    t.contains(output, "iolua: " .. option .. ": ")
    t.contains(output, "usage: iolua")
    t.equal(code, 2)
  end)
end

t.case("root's path has no relative entries", function()
  local id = t.run("id -u")
  local output = run("-e 'print(package.path .. \";\" .. package.cpath)'", "LUA_PATH='./?.lua;;'")
  local relative = false
  for entry in output:gmatch("[^;\n]+") do relative = relative or entry:sub(1, 1) ~= "/" end
  t.equal(relative, tonumber(id) ~= 0)
end)

for signal, name in pairs { [2] = "interrupted", [15] = "terminated", [1] = "hung up" } do
  for what, text in pairs {
    ["a loop"] = "while true do end",
    ["a loop in a coroutine"] = "coroutine.wrap(function() while true do end end)()",
    ["a loop under pcall"] = "pcall(function() while true do end end)",
  } do
    t.case(("signal %d ends %s"):format(signal, what), function()
      local output, code = t.run(("timeout --foreground --preserve-status -s %d 0.2 %s -e '%s'")
        :format(signal, iolua, text))
      t.equal(code, 128 + signal)
      if what ~= "a loop under pcall" then t.contains(output, "iolua: " .. name) end
    end)
  end
end

t.case("a second signal ends a script that swallows the first", function()
  local _, code = t.run(("timeout --foreground --preserve-status -s INT -k 0.2 0.2 %s -e '%s'")
    :format(iolua, "while true do pcall(function() while true do end end) end"))
  t.equal(code, 137)
end)

t.run("rm -rf " .. folder)
t.done()
