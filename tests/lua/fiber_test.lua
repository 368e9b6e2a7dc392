-- Fibers: spawn, join, cancel, sleep, what they meet at, and where waiting is impossible.
local t = require "check"
local iolua = require "iolua"
local core = require "iolua.core"
local fiber = iolua.fiber

local function now() return core.clock.now() end

t.case("a fiber's results come from join, again and again", function()
  local f = iolua.spawn(function(a, b) return a + b, nil, "x" end, 1, 2)
  t.same(table.pack(f:join()), { 3, nil, "x", n = 3 })
  t.same(table.pack(f:join()), { 3, nil, "x", n = 3 })
  t.equal(f:status(), "done")
end)

t.case("a fiber starts when the spawner waits, in the order of spawning", function()
  local order = {}
  local a = iolua.spawn(function() order[#order + 1] = "a" end)
  local b = iolua.spawn(function() order[#order + 1] = "b" end)
  order[#order + 1] = "main"
  b:join()
  a:join()
  t.equal(table.concat(order, " "), "main a b")
end)

t.case("many values pass through spawn and join", function()
  local f = iolua.spawn(function(...) return select("#", ...), ... end, table.unpack({}, 1, 3000))
  local packed = table.pack(f:join())
  t.equal(packed[1], 3000)
  t.equal(packed.n, 3001)
end)

t.case("join raises the error of the fiber as it is", function()
  local value = { "an object" }
  local f = iolua.spawn(function() error(value) end)
  local ok, err = pcall(f.join, f)
  t.equal(ok, false)
  t.equal(err, value)
  t.equal(f:status(), "failed")
  f = iolua.spawn(function() local x = nil; return x.y end)
  t.raises("attempt to index a nil value (local 'x')", f.join, f)
  t.contains(f:traceback(), "fiber_test.lua")
end)

t.case("join of itself is an error", function()
  local f
  f = iolua.spawn(function() return pcall(f.join, f) end)
  local ok, message = f:join()
  t.equal(ok, false)
  t.contains(message, "a fiber cannot join itself")
end)

t.case("two that join each other are a deadlock, which is told where the script waits", function()
  local a, b
  a = iolua.spawn(function() return b:join() end)
  b = iolua.spawn(function() return a:join() end)
  t.raises("deadlock: nothing is left that could end this wait", a.join, a)
  a:cancel() b:cancel()
  a:join() b:join()
end)

t.case("sleep lasts its time, and sleepers wake in the order of their times", function()
  local order, t0 = {}, now()
  local list = {}
  for _, ms in ipairs { 30, 10, 20 } do
    list[#list + 1] = iolua.spawn(function() iolua.sleep(ms .. "ms") order[#order + 1] = ms end)
  end
  for _, f in ipairs(list) do f:join() end
  t.equal(table.concat(order, " "), "10 20 30")
  t.ok(now() - t0 >= 30000000, "30 ms passed")
end)

t.case("sleep refuses what is no duration", function()
  t.raises("sleep: 5 ns is under 1 us", iolua.sleep, 5)
  t.raises("sleep: ", iolua.sleep, "5")
  t.raises("sleep: ", iolua.sleep, "-5s")
  t.raises("sleep: ", iolua.sleep, nil)
end)

t.case("cancel raises where the fiber waits; its closers run and may wait", function()
  local steps = {}
  local f = iolua.spawn(function()
    local _x <close> = setmetatable({}, { __close = function()
      steps[#steps + 1] = "closing"
      iolua.sleep("1ms")
      steps[#steps + 1] = "closed"
    end })
    iolua.sleep("1h")
  end)
  iolua.sleep(0)
  t.equal(f:status(), "waiting")
  t.equal(f:cancel(), true)
  local value, message, errno = f:join()
  t.equal(value, nil)
  t.equal(message, "join: the fiber was cancelled")
  t.equal(errno, 125)
  t.equal(table.concat(steps, " "), "closing closed")
  t.equal(f:status(), "cancelled")
  t.equal(f:cancel(), false)
end)

t.case("a fiber may catch its cancellation and go on", function()
  local f = iolua.spawn(function()
    local ok, message = pcall(iolua.sleep, "1h")
    iolua.sleep("1ms")
    return ok, message
  end)
  iolua.sleep(0)
  f:cancel()
  local ok, message = f:join()
  t.equal(ok, false)
  t.contains(message, "cancelled")
  t.equal(f:status(), "done")
end)

t.case("a fiber cancelled before it starts never runs", function()
  local ran = false
  local f = iolua.spawn(function() ran = true end)
  f:cancel()
  f:join()
  t.equal(ran, false)
  t.equal(f:status(), "cancelled")
end)

t.case("a fiber may cancel itself", function()
  local f
  f = iolua.spawn(function() f:cancel() return "not reached" end)
  t.equal(f:join(), nil)
  t.equal(f:status(), "cancelled")
end)

t.case("a wake-up for a fiber that is cancelled goes to the next", function()
  local q = core.fiber.queue()
  local function wait() return q:wait() end
  local a, b = iolua.spawn(wait), iolua.spawn(wait)
  iolua.sleep(0)
  t.equal(q:wake(), 1)
  a:cancel()
  t.equal(b:join(), true)
  t.equal(a:join(), nil)
end)

t.case("pcall, metamethods, closers and generic for may wait", function()
  local t0 = now()
  local object = setmetatable({}, {
    __index = function() iolua.sleep("1ms") return 1 end,
    __add = function() iolua.sleep("1ms") return 2 end,
    __call = function() iolua.sleep("1ms") return 3 end,
    __close = function() iolua.sleep("1ms") end,
    __eq = function() iolua.sleep("1ms") return true end,
    __concat = function() iolua.sleep("1ms") return "c" end,
  })
  local function iterate(_, i) iolua.sleep("1ms") if i < 2 then return i + 1 end end
  local sum = 0
  for i in iterate, nil, 0 do sum = sum + i end
  do
    local _x <close> = object
    sum = sum + object.x + (object + 1) + object()
    t.ok(object == setmetatable({}, getmetatable(object)))
    t.equal(object .. "", "c")
  end
  t.equal(select(2, pcall(function() iolua.sleep("1ms") return 4 end)), 4)
  t.equal(sum, 9)
  t.ok(now() - t0 >= 10000000, "ten waits of 1 ms")
end)

t.case("where waiting is impossible the message says inside what", function()
  t.raises("sleep cannot wait inside table.sort", table.sort, { 3, 2, 1 },
    function() iolua.sleep("1ms") end)
  t.raises("sleep cannot wait inside string.gsub", string.gsub, "x", "x",
    function() iolua.sleep("1ms") end)
  package.preload["waits at load"] = function() iolua.sleep("1ms") end
  t.raises("sleep cannot wait inside require", require, "waits at load")
end)

t.case("in a coroutine of the script waiting is refused, naming iolua.wrap", function()
  local co = coroutine.wrap(function() iolua.sleep("1ms") end)
  t.raises("sleep cannot wait in a coroutine that the loop did not make", co)
  co = coroutine.wrap(function() iolua.spawn(function() end):join() end)
  t.raises("make it by iolua.wrap", co)
end)

t.case("iolua.wrap makes a generator that may wait", function()
  local function numbers(n)
    return iolua.wrap(function()
      for i = 1, n do iolua.sleep("1ms") coroutine.yield(i, -i) end
      return "end"
    end)
  end
  local g = numbers(2)
  t.same({ g() }, { 1, -1 })
  t.same({ g() }, { 2, -2 })
  t.equal(g(), "end")
  t.raises("cannot resume dead coroutine", g)
end)

t.case("generators that wait may be nested", function()
  local inner = function()
    return iolua.wrap(function() for i = 1, 3 do iolua.sleep("1ms") coroutine.yield(i) end end)
  end
  local outer = iolua.wrap(function()
    for v in inner() do iolua.sleep("1ms") coroutine.yield(10 * v) end
  end)
  local got = {}
  for v in outer do got[#got + 1] = v end
  t.equal(table.concat(got, " "), "10 20 30")
end)

t.case("a generator that fails raises in its consumer, and its closers run", function()
  local closed = 0
  local g = iolua.wrap(function()
    local _x <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
    iolua.sleep("1ms")
    error("bad", 0)
  end)
  local ok, message = pcall(g)
  t.equal(ok, false)
  t.equal(message, "bad")
  t.equal(closed, 1)
  iolua.sleep("1ms")
end)

t.case("cancel reaches a fiber inside a generator", function()
  local f = iolua.spawn(function()
    local g = iolua.wrap(function() iolua.sleep("1h") end)
    g()
  end)
  iolua.sleep("1ms")
  f:cancel()
  f:join()
  t.equal(f:status(), "cancelled")
end)

t.case("a generator that waits for one fiber is refused to another", function()
  local g = iolua.wrap(function() iolua.sleep("10ms") return 1 end)
  local a = iolua.spawn(g)
  iolua.sleep("1ms")
  t.raises("the generator waits in another fiber", g)
  t.equal(a:join(), 1)
end)

t.case("a finalizer may wait: it blocks", function()
  local slept
  setmetatable({}, { __gc = function()
    local t0 = now()
    iolua.sleep("2ms")
    slept = now() - t0
  end })
  collectgarbage()
  t.ok(slept and slept >= 2000000, "the finalizer slept")
end)

t.case("timeout gives what the function returns, or says how long it had", function()
  t.same({ iolua.timeout("1s", function(a) iolua.sleep("1ms") return a, 2 end, 1) }, { 1, 2 })
  local value, message, errno = iolua.timeout("5ms", iolua.sleep, "1h")
  t.equal(value, nil)
  t.equal(message, "timeout: not done after 5ms")
  t.equal(errno, 110)
  t.raises("inside", iolua.timeout, "1s", function() error("inside") end)
end)

t.case("a timeout inside a longer one ends first", function()
  local inner
  local ok = iolua.timeout("1s", function()
    inner = iolua.timeout("2ms", iolua.sleep, "1h")
    return "outer"
  end)
  t.equal(ok, "outer")
  t.equal(inner, nil)
end)

t.case("a channel hands values over in order and ends when closed", function()
  local c, got = iolua.channel(2), {}
  local producer = iolua.spawn(function()
    for i = 1, 10 do c:send(i) end
    c:close()
  end)
  for v in c:each() do got[#got + 1] = v end
  t.equal(table.concat(got, " "), "1 2 3 4 5 6 7 8 9 10")
  producer:join()
  t.raises("send: the channel is closed", c.send, c, 1)
  t.equal(c:receive(), false)
end)

t.case("a full channel makes its sender wait", function()
  local c, sent = iolua.channel(3), 0
  local f = iolua.spawn(function() for i = 1, 5 do c:send(i) sent = i end end)
  iolua.sleep("1ms")
  t.equal(sent, 3)
  t.equal(#c, 3)
  for i = 1, 5 do t.same({ c:receive() }, { true, i }) end
  f:join()
end)

t.case("a semaphore lets its number in at once", function()
  local s, inside, most, list = iolua.semaphore(3), 0, 0, {}
  for i = 1, 10 do
    list[i] = iolua.spawn(function()
      local _permit <close> = s:acquire()
      inside = inside + 1
      most = math.max(most, inside)
      iolua.sleep("1ms")
      inside = inside - 1
    end)
  end
  for _, f in ipairs(list) do f:join() end
  t.equal(most, 3)
  t.equal(s.free, 3)
end)

t.case("a barrier holds all until the last has come, every round", function()
  local b, log, list = iolua.barrier(3), {}, {}
  for i = 1, 3 do
    list[i] = iolua.spawn(function()
      for round = 1, 2 do
        iolua.sleep(i .. "ms")
        log[#log + 1] = round
        b:wait()
      end
    end)
  end
  for _, f in ipairs(list) do f:join() end
  t.equal(table.concat(log), "111222")
end)

t.case("counts that are no counts are refused", function()
  t.raises("channel: capacity 0", iolua.channel, 0)
  t.raises("semaphore: -1", iolua.semaphore, -1)
  t.raises("barrier: 1.5", iolua.barrier, 1.5)
end)

t.case("100 000 fibers at once", function()
  local n, list = 0, {}
  for i = 1, 100000 do list[i] = iolua.spawn(function() iolua.sleep("1ms") n = n + 1 end) end
  for i = 1, #list do list[i]:join() end
  t.equal(n, 100000)
end)

t.case("spawn and join leave nothing behind", function()
  local function round(n)
    for _ = 1, n do iolua.spawn(function() return 1 end):join() end
    collectgarbage()
    collectgarbage()
    return collectgarbage("count")
  end
  local before = round(1000)
  local after = round(1000000)
  t.ok(after - before < 64, ("memory grew by %.0f KiB"):format(after - before))
end)

t.case("wait_readable sees a descriptor become readable, or the time pass", function()
  local pipe = assert(io.popen("sleep 0.02; echo x"))
  local ends = iolua.open("/dev/zero")
  t.equal(fiber.wait_readable(ends:fd()), true)
  ends:close()
  pipe:close()
  t.raises("", fiber.wait_readable, -1)
  t.equal((fiber.wait_readable(1000000)), nil)
end)

t.case("a fiber's coroutine can be resumed or closed by the loop alone", function()
  local co
  local f = iolua.spawn(function() co = coroutine.running() iolua.sleep("5ms") return 3 end)
  iolua.sleep("1ms")
  t.same({ coroutine.resume(co) }, { false, "cannot resume a fiber: the loop does" })
  t.raises("cannot close a fiber: cancel it", coroutine.close, co)
  t.equal(f:join(), 3)
  t.same({ coroutine.resume(co) }, { false, "cannot resume dead coroutine" })
end)

t.case("a yield of one's own in a fiber lets others go first", function()
  local order = {}
  local a = iolua.spawn(function()
    order[#order + 1] = "a1"
    coroutine.yield()
    order[#order + 1] = "a2"
  end)
  local b = iolua.spawn(function() order[#order + 1] = "b" end)
  a:join() b:join()
  t.equal(table.concat(order, " "), "a1 b a2")
end)

t.case("the class functions refuse what is no fiber", function()
  local f = iolua.spawn(function() end)
  t.raises("iolua.fiber expected", f.join, io.stdout)
  t.raises("function expected", iolua.spawn, 1)
  t.equal(getmetatable(f), false)
  f:join()
end)

t.done()
