-- Lua's collector run by the loop, or by nobody: counted, and back to itself afterwards.
local t = require "check"
local iolua = require "iolua"

local function litter(n)
  for _ = 1, n do
    for _ = 1, 100 do local _ = { 1, 2, 3, 4 } end      -- some 10 KiB that nobody keeps
    iolua.sleep(0)
  end
end

t.case("the loop collects what fibers leave, in steps that it counts and times", function()
  collectgarbage()
  local base = collectgarbage("count")
  local gone = 0
  local c <close> = iolua.fiber.collector "loop"
  for _ = 1, 10 do setmetatable({}, { __gc = function() gone = gone + 1 end }) end
  litter(2000)                          -- 20 MiB
  t.ok(c.cycles >= 2, "more cycles than one: " .. c.cycles)
  t.ok(c.steps >= c.cycles, "a cycle has a step at least")
  t.ok(c.max_ns > 0 and c.max_ns <= c.total_ns, "the longest is no longer than all")
  t.ok(c.total_ns <= c.steps * c.max_ns, "nor all than steps times the longest")
  t.equal(gone, 10)
  t.ok(collectgarbage("count") < 3 * base + 2048, "memory stays bounded")
end)

t.case("nobody collects while it is stopped; afterwards Lua does again", function()
  local gone, kept = false, nil
  collectgarbage()
  do
    local c <close> = iolua.fiber.collector "stop"
    setmetatable({}, { __gc = function() gone = true end })
    litter(300)
    t.equal(gone, false)
    t.equal(c.steps, 0)
    t.equal(c.total_ns, 0)
    t.equal(c.other, nil)
    kept = c
  end
  t.equal(kept.steps, 0)
  litter(2000)
  t.equal(gone, true)
end)

t.case("counts stay as they were when it was closed, and begin anew", function()
  local first
  do
    local c <close> = iolua.fiber.collector "loop"
    litter(1000)
    first = c
  end
  local steps, total = first.steps, first.total_ns
  t.ok(steps > 0, "it collected")
  local c <close> = iolua.fiber.collector "loop"
  t.equal(c.steps, 0)
  t.equal(c.cycles, 0)
  t.equal(first.steps, steps)
  t.equal(first.total_ns, total)
end)

t.case("a mode that is none is refused", function()
  t.raises('mode often is not "loop", "stop" or "auto"', iolua.fiber.collector, "often")
  t.raises('mode nil', iolua.fiber.collector)
end)

t.case("a finalizer is told that it cannot change who collects", function()
  local ok, message
  setmetatable({}, { __gc = function() ok, message = pcall(iolua.fiber.collector, "stop") end })
  collectgarbage()
  t.equal(ok, false)
  t.ok(message:find("collector: a finalizer cannot change who collects", 1, true), message)
  t.equal(collectgarbage("isrunning"), true)
end)

t.done()
