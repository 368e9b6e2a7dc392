-- The option bs: sizes, ranges and mixes with shares.
local sizes = require "iolua.job.sizes"
local t = require "check"

t.case("one size is no mix", function()
  t.same(sizes.parse("4k"), { bytes = 4096, max = 4096 })
  t.same(sizes.parse(512), { bytes = 512, max = 512 })
  t.same(sizes.parse("8k-8k"), { bytes = 8192, max = 8192 })
end)

t.case("a range gives the multiples of its low end", function()
  local p = sizes.parse("4k-64k")
  t.equal(p.bytes, 4096)
  t.equal(p.max, 65536)
  t.same(p.mix, { count = 1, share = { 100000000 }, low = { 4096 }, high = { 65536 },
    step = { 4096 } })
  t.equal(sizes.parse("4k-10k").max, 8192)
end)

t.case("weights are of operations; a missing one takes the rest", function()
  t.same(sizes.parse({ ["64k"] = 40, ["4k"] = 60 }).mix.share, { 60000000, 40000000 })
  local p = sizes.parse { ["4k"] = 60, "64k", "8k-32k" }
  t.same(p.mix.low, { 4096, 8192, 65536 })
  t.same(p.mix.share, { 60000000, 20000000, 20000000 })
  t.same(sizes.parse({ ["4k"] = 60, ["64k"] = true }).mix.share, { 60000000, 40000000 })
  t.same(sizes.parse({ [512] = 100 }).mix.low, { 512 })
end)

t.case("what does not add up is refused", function()
  for text, mix in pairs {
    ["shares add up to 110 %, over 100 %"] = { ["4k"] = 60, ["64k"] = 50 },
    ["shares add up to 90 %, not 100 %"] = { ["4k"] = 50, ["64k"] = 40 },
    ["\"4x\" is not a size; write bytes or as in \"4k\""] = { ["4x"] = 100 },
    ["-1 is not a percentage"] = { ["4k"] = -1, ["8k"] = 101 },
    ["a mix without sizes"] = {},
    ["4k = a lot is not a share"] = { ["4k"] = "a lot" },
  } do
    local p, message = sizes.parse(mix)
    t.equal(p, nil)
    t.equal(message, text)
  end
  local _, message = sizes.parse("64k-4k")
  t.equal(message, "\"64k-4k\" ends below where it begins")
  t.contains(select(2, sizes.parse("0")), "out of range")
  t.contains(select(2, sizes.parse("2g")), "out of range")
end)

t.done()
