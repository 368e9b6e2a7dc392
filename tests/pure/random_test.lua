-- The pure generator: published vectors, unbiased ranges, every order as likely.
local t = require "check"
local random = require "iolua.random"

-- 64 bits as the unsigned decimal that the publications print.
local function unsigned(x) return ("%d%d"):format((x >> 1) // 5, x - (x >> 1) // 5 * 10) end

t.case("xoshiro256++ gives the published sequence of state 1, 2, 3, 4", function()
  local g = random.from_state(1, 2, 3, 4)
  for _, want in ipairs { "41943041", "58720359", "3588806011781223", "3591011842654386",
    "9228616714210784205", "9973669472204895162", "14011001112246962877" } do
    t.equal(unsigned(g:next()):gsub("^0", ""), want)
  end
end)

t.case("a seed is spread by splitmix64 as published", function()
  -- The first outputs of splitmix64 from 1234567.
  local g = random.new(1234567)
  for i, want in ipairs { "6457827717110365317", "3203168211198807973",
    "9817491932198370423", "4593380528125082431" } do
    t.equal(unsigned(g[i]), want)
  end
end)

t.case("the same seed gives the same sequence and another does not", function()
  local a, b, c = random.new(1), random.new(1), random.new(2)
  local same = true
  for _ = 1, 100 do
    local x = a:next()
    t.equal(b:next(), x)
    same = same and c:next() == x
  end
  t.equal(same, false)
  t.raises("a seed must be an integer, not 1.5", random.new, 1.5)
end)

t.case("ranges are whole and even", function()
  local g, counts = random.new(7), { 0, 0, 0, 0, 0, 0 }
  for _ = 1, 60000 do
    local v = g:below(6)
    counts[v] = counts[v] + 1
  end
  local chi = 0
  for v = 1, 6 do chi = chi + (counts[v] - 10000)^2 / 10000 end
  t.ok(chi < 20.5, "chi-square of 5 degrees of freedom below its 99.9 %")
  t.equal(g:below(1), 1)
  for _ = 1, 1000 do t.ok(g:below(math.maxinteger) >= 1) end
end)

t.case("every order of three is as likely", function()
  local g, counts, kinds = random.new(11), {}, 0
  for _ = 1, 12000 do
    local key = table.concat(g:shuffle { 1, 2, 3 })
    if not counts[key] then counts[key], kinds = 0, kinds + 1 end
    counts[key] = counts[key] + 1
  end
  t.equal(kinds, 6)
  for _, n in pairs(counts) do t.near(n, 2000, 200) end
end)

t.case("uniform and normal draws have their moments", function()
  local g, n = random.new(13), 20000
  local sum, square, uniform = 0, 0, 0
  for _ = 1, n do
    local u, z = g:uniform(), g:normal()
    t.ok(u >= 0 and u < 1)
    uniform, sum, square = uniform + u, sum + z, square + z * z
  end
  t.near(uniform / n, 0.5, 0.01)
  t.near(sum / n, 0, 0.03)
  t.near(square / n, 1, 0.05)
end)

t.done()
