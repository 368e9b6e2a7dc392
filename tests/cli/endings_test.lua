-- How a run ends: signals, os.exit and errors while fibers wait, with their closers.
local t = require "check"

local iolua, build = os.getenv("IOLUA"), os.getenv("IOLUA_BUILD")
local folder = t.run("mktemp -d"):match("%S+")

-- Writes a script that has `closing(name)`, a value that prints the name when it is closed, and
-- `pipe()`, a fifo whose reader waits.
local PRELUDE = [[
local iolua = require "iolua"
local core = require "iolua.core"
io.stdout:setvbuf("line")
local function closing(name)
  return setmetatable({}, { __close = function() print("closed " .. name) end })
end
local writers = {}
local function pipe()
  local name = os.tmpname()
  os.remove(name)
  os.execute("mkfifo " .. name)
  local reader = assert(iolua.open(name))
  writers[#writers + 1] = io.open(name, "w")
  os.remove(name)
  return reader
end
local function ready() assert(io.open(arg[0] .. ".ready", "w")):close() end
]]

local function script(text)
  local path = folder .. "/script.lua"
  local file = assert(io.open(path, "w"))
  file:write(PRELUDE, text)
  file:close()
  return path
end

local function run(text, before)
  return t.run(("%s %s %s"):format(before or "", iolua, script(text)))
end

-- Runs a script and signals it once it has called `ready` (the shell would have it ignore SIGINT);
-- one that does not end by that is killed when `kills` is given.
local function signalled(signal, text, kills)
  return t.run(([[env --default-signal=INT %s %s & pid=$!
    while [ ! -e %s/script.lua.ready ] && kill -0 $pid; do sleep 0.01; done
    rm -f %s/script.lua.ready
    sleep 0.05; kill -%s $pid; %s
    wait $pid]]):format(iolua, script(text), folder, folder, signal,
    kills and "sleep 0.3; kill -KILL $pid" or ""))
end

t.case("SIGINT while 64 reads are in flight ends by the signal, all closers run", function()
  local output, code = signalled("INT", [[
    local main <close> = closing "main"
    local p = pipe()
    local n = 0
    for i = 1, 64 do
      iolua.spawn(function()
        local b <close> = iolua.buffer(4096)
        local count <close> = setmetatable({}, { __close = function() n = n + 1 end })
        p:read(b, 0)
      end)
    end
    local last <close> = setmetatable({}, { __close = function()
      print("buffers", (core.buf.alive()))
    end })
    ready()
    iolua.sleep("1h")]])
  t.equal(output, "buffers\t64\nclosed main\niolua: interrupted\n")
  t.equal(code, 130)
end)

for signal, code in pairs { INT = 130, TERM = 143, HUP = 129 } do
  t.case(("SIG%s ends a waiting script as a shell shows it"):format(signal), function()
    local output, got = signalled(signal, [[
      local x <close> = closing "x"
      ready()
      iolua.sleep("1h")]])
    t.contains(output, "closed x\niolua: ")
    t.equal(got, code)
  end)
end

t.case("pcall does not swallow an interrupt for good", function()
  local output, code = signalled("INT", [[
    local x <close> = closing "x"
    ready()
    while true do
      local ok, err = pcall(iolua.sleep, "1h")
      print(err:match("interrupted"))
    end]], true)
  t.contains(output, "interrupted\ninterrupted\n")
  t.equal(code, 137)      -- it goes on catching: only the kill ends it
end)

t.case("a script that catches the interrupt and ends is ended by the signal", function()
  local output, code = signalled("INT", [[
    ready()
    print(pcall(iolua.sleep, "1h"))
    print("partial results")]])
  t.contains(output, "interrupted\npartial results\n")
  t.equal(code, 130)
end)

t.case("SIGINT reaches a busy fiber, whatever the main one waits for", function()
  local output, code = signalled("INT", [[
    local t = iolua.spawn(function() ready() while true do end end)
    local x <close> = closing "x"
    t:join()]])
  t.contains(output, "closed x\niolua: interrupted\n")
  t.equal(code, 130)
end)

t.case("SIGINT reaches a busy generator", function()
  local _, code = signalled("INT", [[
    iolua.wrap(function() iolua.sleep("1ms") ready() while true do end end)()]])
  t.equal(code, 130)
end)

t.case("fibers that run when the main one is interrupted are cancelled, their closers wait",
  function()
    local output, code = signalled("INT", [[
      iolua.spawn(function()
        local x <close> = setmetatable({}, { __close = function()
          iolua.sleep("1ms")
          print("fiber closed")
        end })
        iolua.sleep("1h")
      end)
      iolua.spawn(ready)
      iolua.sleep("1h")]])
    t.contains(output, "fiber closed\n")
    t.equal(code, 130)
  end)

t.case("os.exit in the main fiber runs its closers, pcall cannot stop it", function()
  local output, code = run [[
    local x <close> = closing "x"
    pcall(function()
      local y <close> = closing "y"
      os.exit(9)
    end)
    print("not reached")]]
  t.equal(output, "closed y\nclosed x\n")
  t.equal(code, 9)
end)

t.case("os.exit in a fiber: the main fiber's closers first, then the others'", function()
  local output, code = run [[
    local x <close> = closing "main"
    local p = pipe()
    iolua.spawn(function()
      local y <close> = closing "reader"
      p:read(iolua.buffer(16), 0)
    end)
    iolua.spawn(function()
      local z <close> = closing "leaver"
      iolua.sleep("1ms")
      os.exit(4)
    end):join()]]
  t.contains(output, "closed main\n")
  t.contains(output:match("closed main\n(.*)"), "closed reader\n")
  t.contains(output:match("closed main\n(.*)"), "closed leaver\n")
  t.equal(code, 4)
end)

t.case("os.exit where the loop cannot be reached still ends the run", function()
  local output, code = run [[
    local x <close> = closing "x"
    table.sort({ 2, 1 }, function() os.exit(6) end)]]
  t.equal(output, "closed x\n")
  t.equal(code, 6)
end)

t.case("os.exit in a finalizer ends the run at the next step", function()
  local output, code = run [[
    local x <close> = closing "x"
    setmetatable({}, { __gc = function() os.exit(7) end })
    collectgarbage()
    print "went on"]]
  t.equal(output, "closed x\n")
  t.equal(code, 7)
end)

t.case("os.exit in a finalizer ends fibers and loops too", function()
  for _, body in ipairs {
    "iolua.spawn(function() collectgarbage() while true do end end):join()",
    "collectgarbage() iolua.sleep('1h')",
    "for i = 1, math.huge do local t = { i } end",
    "coroutine.wrap(function() collectgarbage() while true do end end)()",
    "iolua.wrap(function() collectgarbage() while true do end end)()",
    "pcall(function() collectgarbage() while true do end end) print 'swallowed'",
  } do
    local output, code = run([[
      local x <close> = closing "x"
      setmetatable({}, { __gc = function() os.exit(8) end })
    ]] .. body)
    t.equal(output, "closed x\n", body)
    t.equal(code, 8, body)
  end
end)

t.case("os.exit in a finalizer at the very end is the status too", function()
  local output, code = run [[x = setmetatable({}, { __gc = function() os.exit(9) end })]]
  t.equal(output, "")
  t.equal(code, 9)
  output, code = run [[
    x = setmetatable({}, { __gc = function() os.exit(0) end })
    error("a failure stays one", 0)]]
  t.contains(output, "a failure stays one")
  t.equal(code, 1)
end)

t.case("an exit status that is none is told, and is no success", function()
  for _, status in ipairs { "300", "256", "-1", "2.5", "0/0", "1e300", "math.mininteger" } do
    local output, code = run("error { iolua_exit = " .. status .. ", message = 'why' }")
    t.contains(output, "is no exit status (0 to 255): the run ends with 1\n")
    t.contains(output, "iolua: why\n")
    t.equal(code, 1, status)
  end
  local output, code = run "iolua.leave(300)"
  t.contains(output, "leave: 300 is no exit status: it must be 0 to 255; the nearest is 255")
  t.contains(run "iolua.leave(1, {})", "leave: the message is a table, not a string")
  t.equal(code, 1)
  output, code = run "local x <close> = closing 'x' iolua.leave(5, 'that is all')"
  t.equal(output, "closed x\niolua: that is all\n")
  t.equal(code, 5)
end)

t.case("a closer may read while os.exit unwinds", function()
  local output, code = run [[
    local x <close> = setmetatable({}, { __close = function()
      print(iolua.open("/dev/zero"):read(iolua.buffer(16), 0))
    end })
    os.exit(0)]]
  t.equal(output, "16\n")
  t.equal(code, 0)
end)

t.case("the script ends when its fibers have, also those nobody joins", function()
  local output, code = run [[
    iolua.spawn(function() iolua.sleep("5ms") print("late") end)
    print("main done")]]
  t.equal(output, "main done\nlate\n")
  t.equal(code, 0)
end)

t.case("an error nobody joins ends the script with that fiber's traceback", function()
  local output, code = run [[
    iolua.spawn(function()
      local function inside() error("lost") end
      inside()
    end)
    iolua.sleep("1ms")
    print("main done")]]
  t.contains(output, "main done\niolua: ")
  t.contains(output, "script.lua:19: lost\nstack traceback:")
  t.contains(output, "in local 'inside'")
  t.equal(code, 1)
end)

t.case("a failed fiber that others wait for is told instead of a deadlock", function()
  local output, code = run [[
    local b = iolua.barrier(2)
    iolua.spawn(function() error("the cause") end)
    b:wait()]]
  t.contains(output, "the cause")
  t.equal(code, 1)
end)

t.case("the error of a joined fiber shows where it happened", function()
  local output, code = run [[
    local t = iolua.spawn(function() local function deep() error("boom") end deep() end)
    t:join()]]
  t.contains(output, "boom\nstack traceback:")
  t.contains(output, "in a fiber:\nstack traceback:")
  t.contains(output, "in local 'deep'")
  t.equal(code, 1)
end)

t.case("a fiber that waits for ever does not keep the run alive", function()
  local output, code = run [[
    local c = iolua.channel()
    iolua.spawn(function() local x <close> = closing "x" c:receive() end)
    iolua.sleep("1ms")]]
  t.equal(output, "closed x\n")
  t.equal(code, 0)
end)

t.case("a read that is still out when the run ends is cancelled", function()
  local output, code = run [[
    local p = pipe()
    iolua.spawn(function() p:read(iolua.buffer(16), 0) end)
    iolua.sleep("1ms")
    error("the end", 0)]]
  t.contains(output, "iolua: the end")
  t.equal(code, 1)
end)

t.case("a stock lua5.4 can use it: waits drive the loop in place", function()
  local output, code = t.run(("LUA_CPATH='%s/lua/?.so;;' lua5.4 %s"):format(build, script [[
    local f <close> = assert(iolua.open("/dev/zero"))
    local b <close> = iolua.buffer(4096)
    print(f:read(b, 0))
    local order = {}
    local t = iolua.spawn(function() iolua.sleep("2ms") order[#order + 1] = "fiber" return 7 end)
    print(f:read(b, 0), t:join())
    order[#order + 1] = "main"
    print(table.concat(order, " "))
    print(coroutine.wrap(function() return f:read(b, 0) end)())
    print(pcall(iolua.spawn(function() error("in it", 0) end).join, iolua.spawn(function() end)))
    local p = pipe()
    iolua.spawn(function() p:read(b, 0) end)
    iolua.sleep("1ms")]]))
  if output:find("ASan runtime", 1, true) then t.skip("core.so needs ASan's runtime") end
  t.equal(output, "4096\n4096\t7\nfiber main\n4096\ntrue\n")
  t.equal(code, 0)
end)

t.run("rm -rf " .. folder)
t.done()
