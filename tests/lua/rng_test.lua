-- Random numbers, permutations and the clock as scripts see them.
local t = require "check"
local core = require "iolua.core"

t.case("one seed gives one sequence, streams and seeds differ", function()
  local a, b, c, d = core.rng.new(7), core.rng.new(7, 0), core.rng.new(7, 1), core.rng.new(8)
  for _ = 1, 100 do
    local v = a:next()
    t.equal(b:next(), v)
    t.ok(c:next() ~= v and d:next() ~= v)
  end
end)

t.case("the sequence is the same on every machine", function()
  -- splitmix64 spreads the seed 1234567 into its published outputs; xoshiro256++'s first
  -- number is then rotl(s0 + s3, 23) + s0.
  local s0, s3 = 6457827717110365317, 4593380528125082431
  local sum = s0 + s3
  t.equal(core.rng.new(1234567):next(), ((sum << 23) | (sum >> 41)) + s0)
end)

t.case("below and unit keep their ranges", function()
  local r = core.rng.new(1)
  local seen = {}
  for _ = 1, 1000 do
    local v, u = r:below(5), r:unit()
    t.ok(math.type(v) == "integer" and v >= 0 and v < 5)
    t.ok(u >= 0 and u < 1)
    seen[v] = true
  end
  t.equal(#seen, 4)
  t.equal(r:below(1), 0)
  t.raises("0 is not in 1..", r.below, r, 0)
end)

t.case("a shuffle is a permutation, and every one equally likely", function()
  local r, seen = core.rng.new(2), {}
  for _ = 1, 6000 do
    local order = table.concat(r:shuffle { 1, 2, 3 })
    seen[order] = (seen[order] or 0) + 1
  end
  for _, order in ipairs { "123", "132", "213", "231", "312", "321" } do
    t.near(seen[order], 1000, 4 * math.sqrt(6000 * 5 / 36), order)
  end
  t.same(r:shuffle {}, {})
  t.same(r:shuffle { "x" }, { "x" })
  t.raises("table expected", r.shuffle, r, 5)
end)

t.case("misuse of a generator is named", function()
  t.raises("not in 0..65535", core.rng.new, 1, 65536)
  t.raises("integer expected", core.rng.new, "1")
  t.raises("iolua.rng expected", core.rng.new(1).next, {})
end)

t.case("a permutation takes every index to a place of its own", function()
  local p, seen = core.dist.permutation(1000, 3), {}
  t.equal(#p, 1000)
  for i = 0, 999 do
    local at = p:at(i)
    t.ok(at >= 0 and at < 1000 and not seen[at])
    seen[at] = true
  end
  t.raises("1000 is not in 0..999", p.at, p, 1000)
  t.raises("0 is not in 1..", core.dist.permutation, 0, 1)
  t.equal(core.dist.permutation(1000, 3):at(5), p:at(5))
  t.ok(core.dist.permutation(math.maxinteger, 3):at(math.maxinteger - 1) >= 0)
end)

t.case("the clock counts ns and never goes back", function()
  local last = core.clock.now()
  t.equal(math.type(last), "integer")
  for _ = 1, 1000 do
    local now = core.clock.now()
    t.ok(now >= last)
    last = now
  end
end)

t.done()
