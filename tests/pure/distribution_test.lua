local t = require "check"
local distribution = require "iolua.distribution"
local shares = require "iolua.shares"

t.case("every kind is read", function()
  t.same(distribution.parse("uniform"), { kind = "uniform", scatter = false })
  t.same(distribution.parse("random"), { kind = "uniform", scatter = false })
  t.same(distribution.parse("sequential"), { kind = "sequential", scatter = false })
  t.same(distribution.parse("zipf:0.99"), { kind = "zipf", parameter = 0.99, scatter = true })
  t.same(distribution.parse("zipf:1"), { kind = "zipf", parameter = 1.0, scatter = true })
  t.same(distribution.parse("pareto:.2"),
    { kind = "pareto", parameter = 0.2, scatter = true })
  t.same(distribution.parse("normal:20"),
    { kind = "normal", parameter = 20.0, scatter = false })
  t.same(distribution.parse("stride:16"), { kind = "stride", stride = 16, scatter = false })
  t.same(distribution.parse("zoned:50/5:30/15:20/80"), {
    kind = "zoned", access = { 50000000, 30000000, 20000000 },
    size = { 5000000, 15000000, 80000000 }, scatter = false,
  })
end)

t.case("theta 0 is uniform", function()
  t.same(distribution.parse("zipf:0"), { kind = "uniform", scatter = false })
  t.same(distribution.parse("zipf:0.0"), { kind = "uniform", scatter = false })
end)

t.case("scattering can be asked for and refused", function()
  t.equal(distribution.parse("zipf:1.2", false).scatter, false)
  t.equal(distribution.parse("normal:5", true).scatter, true)
end)

t.case("a missing share takes the rest", function()
  t.same(distribution.parse("zoned:60/10:/20:/").access, { 60000000, 20000000, 20000000 })
  t.same(distribution.parse("zoned:60/10:/20:/").size, { 10000000, 20000000, 70000000 })
  t.same(distribution.parse("zoned:90/10:10").size, { 10000000, 90000000 })
  t.same(shares.complete { 100, false }, { 100000000, 0 })
  t.same(shares.complete { false, false, false }, { 33333334, 33333333, 33333333 })
  t.same(shares.complete { 33.3333, false }, { 33333300, 66666700 })
end)

local bad = {
  { "zipf:-0.5", "zipf:-0.5 is out of range: it must be 0 to 20" },
  { "zipf:21", "zipf:21 is out of range" },
  { "zipf", "zipf needs a number, as in \"zipf:1.2\"" },
  { "zipf:", "zipf needs a number" },
  { "zipf:nan", "zipf needs a number" },
  { "zipf:inf", "zipf needs a number" },
  { "zipf:0x1", "zipf needs a number" },
  { "zipf: 1", "zipf needs a number" },
  { "zipf:1.2:0.5", "zipf needs a number" },
  { "pareto:0", "pareto:0 is out of range: it must be between 0 and 1" },
  { "pareto:1", "pareto:1 is out of range" },
  { "normal:0", "normal:0 is out of range: it must be over 0 and up to 100" },
  { "normal:101", "normal:101 is out of range" },
  { "stride:0", "stride:0 is out of range: it must be 1 or more" },
  { "stride:1.5", "stride needs a number of blocks" },
  { "stride:4k", "stride needs a number of blocks" },
  { "stride:99999999999999999999", "stride needs a number of blocks" },
  { "uniform:1", "uniform takes no number" },
  { "zoned", "zoned needs zones" },
  { "zoned:", "\"\" is not a zone" },
  { "zoned:50/50:", "\"\" is not a zone" },
  { "zoned:a/50", "\"a/50\" is not a zone; write ACCESS/SIZE in per cent" },
  { "zoned:-1/50:/", "\"-1/50\" is not a zone" },
  { "zoned:60/50:50/50", "zoned: access shares add up to 110 %, over 100 %" },
  { "zoned:60/50:30/50", "zoned: access shares add up to 90 %, not 100 %" },
  { "zoned:50/50:50/50.5", "zoned: size shares add up to 100.5 %, over 100 %" },
  { "zoned:101/50:/", "zoned: access 101 is over 100 %" },
  { "zoned:" .. ("0/0:"):rep(256) .. "100/100", "zoned has 257 zones; 256 is the most" },
  { "zipff:1", "\"zipff:1\" is not a distribution; did you mean \"zipf\"?" },
  { "", "\"\" is not a distribution; known: normal, pareto" },
}

for _, case in ipairs(bad) do
  t.case(("%q is refused with the reason"):format(case[1]:sub(1, 30)), function()
    local spec, message = distribution.parse(case[1])
    t.equal(spec, nil)
    t.contains(message, case[2])
  end)
end

t.case("what is no text is no distribution", function()
  t.equal(select(2, distribution.parse(5)), "5 is not a distribution")
  t.equal(select(2, distribution.parse(nil)), "nil is not a distribution")
end)

t.case("shares refuse what is no percentage", function()
  t.equal(select(2, shares.complete { "50" }), "50 is not a percentage")
  t.contains(select(2, shares.complete { 0 / 0 }), "nan is not a percentage")
  t.equal(select(2, shares.complete { -1, false }), "-1 is not a percentage")
end)

t.done()
