-- The tracked resume, wrap and close behave as Lua's own.
local t = require "check"

t.case("resume passes values both ways", function()
  local co = coroutine.create(function(a, b)
    local c = coroutine.yield(a + b)
    return c, "end"
  end)
  t.same({ coroutine.resume(co, 1, 2) }, { true, 3 })
  t.same({ coroutine.resume(co, "x") }, { true, "x", "end" })
  t.same({ coroutine.resume(co) }, { false, "cannot resume dead coroutine" })
end)

t.case("resume of itself is an error", function()
  t.same({ coroutine.resume(coroutine.running()) },
    { false, "cannot resume non-suspended coroutine" })
end)

t.case("resume refuses what is no coroutine", function()
  t.raises("coroutine expected", coroutine.resume, 1)
end)

t.case("wrap is a generator and raises with the place", function()
  local f = coroutine.wrap(function()
    for i = 1, 2 do coroutine.yield(i) end
    error("at end", 0)
  end)
  t.equal(f(), 1)
  t.equal(f(), 2)
  t.raises("coroutine_test.lua", function() local x = f() return x end)
  t.raises("cannot resume dead coroutine", f)
end)

t.case("wrap runs the closers of a generator that failed", function()
  local closed
  local f = coroutine.wrap(function()
    local _ <close> = setmetatable({}, { __close = function() closed = true end })
    error("no", 0)
  end)
  pcall(f)
  t.equal(closed, true)
end)

t.case("close ends a suspended coroutine and its closers may fail", function()
  local co = coroutine.create(function()
    local _ <close> = setmetatable({}, { __close = function() error("late", 0) end })
    coroutine.yield()
  end)
  coroutine.resume(co)
  t.same({ coroutine.close(co) }, { false, "late" })
  t.same({ coroutine.close(co) }, { true })
  t.raises("cannot close a running coroutine", coroutine.close, coroutine.running())
end)

t.case("close refuses a coroutine that has resumed another", function()
  local outer
  outer = coroutine.create(function()
    coroutine.wrap(function() coroutine.close(outer) end)()
  end)
  local ok, message = coroutine.resume(outer)
  t.equal(ok, false)
  t.contains(message, "cannot close a normal coroutine")
end)

t.case("many values pass", function()
  local co = coroutine.create(function(...) return ... end)
  local packed = table.pack(coroutine.resume(co, table.unpack({}, 1, 50000)))
  t.equal(packed.n, 50001)
end)

t.done()
