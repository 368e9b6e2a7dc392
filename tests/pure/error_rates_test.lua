-- What the verdicts promise about errors, over 2000 seeded experiments of each kind of noise.
local t = require "check"
local simulate = require "simulate"

local COUNT, BLOCKS = 2000, 8
-- 5 % and three standard deviations of a count of 2000.
local BOUND = 0.05 + 3 * math.sqrt(0.05 * 0.95 / COUNT)

for _, noise in ipairs(simulate.NOISES) do
  t.case(("A/A on %s noise: at most 5 %% are declared different"):format(noise.name), function()
    local rates = simulate.rates(noise, { blocks = BLOCKS, count = COUNT })
    t.ok(rates.declared <= BOUND, ("%.4f declared"):format(rates.declared))
    t.ok(rates.gate <= BOUND, ("%.4f fail the gate"):format(rates.gate))
  end)

  t.case(("twice the detectable difference in %s noise is found in 95 %% and more")
    :format(noise.name), function()
    local rates = simulate.power(noise, { blocks = BLOCKS, count = COUNT })
    t.ok(rates.found >= 0.95, ("%.4f found"):format(rates.found))
    t.ok(rates.passed > COUNT / 2)
  end)
end

t.case("docs/measuring.md shows the tables its script makes", function()
  package.path = package.path .. ";docs/?.lua"
  local made = require "measuring"
  local file = assert(io.open("docs/measuring.md"))
  local page = file:read("a")
  file:close()
  t.contains(page, made.BEGIN .. made.tables() .. made.END)
end)

t.done()
