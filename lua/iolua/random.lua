--- A seeded generator for designs and resampling: xoshiro256++, one seed, one sequence.
--
-- Not for the places of operations: those are drawn in core/rng, in the worker.
local random = {}
random.__index = random

local function rotate(x, k) return x << k | x >> (64 - k) end

-- splitmix64: spreads a seed over the state; neighbouring seeds share nothing.
local function splitmix(state)
  state = state + 0x9e3779b97f4a7c15
  local z = state
  z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
  z = (z ~ z >> 27) * 0x94d049bb133111eb
  return state, z ~ z >> 31
end

--- A generator from a seed.
---@param seed integer
---@return table
function random.new(seed)
  seed = math.tointeger(seed) or error("a seed must be an integer, not " .. tostring(seed), 2)
  local state, words = seed, {}
  for i = 1, 4 do state, words[i] = splitmix(state) end
  return setmetatable(words, random)
end

--- A generator with this state of four words, not all 0.
function random.from_state(a, b, c, d)
  return setmetatable({ a, b, c, d }, random)
end

--- The next 64 random bits, as a signed integer.
---@return integer
function random:next()
  local a, b, c, d = self[1], self[2], self[3], self[4]
  local result = rotate(a + d, 23) + a
  c, d = c ~ a, d ~ b
  self[2], self[1] = b ~ c, a ~ d
  self[3], self[4] = c ~ b << 17, rotate(d, 45)
  return result
end

--- An integer from 1 to n, each as likely as the others.
---@param n integer  1 or more
---@return integer
function random:below(n)
  -- Draws that would favour the small ones are thrown away: fewer than half ever are.
  local last = math.maxinteger - (math.maxinteger % n + 1) % n
  local draw
  repeat draw = self:next() & math.maxinteger until draw <= last
  return draw % n + 1
end

--- A float in [0, 1).
---@return number
function random:uniform() return (self:next() >> 11) * 0x1p-53 end

--- A draw from the standard normal distribution.
---@return number
function random:normal()
  local u
  repeat u = self:uniform() until u > 0
  return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * self:uniform())
end

--- Put a list in random order, in place, every order as likely. Returns it.
function random:shuffle(list)
  for i = #list, 2, -1 do
    local j = self:below(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

return random
