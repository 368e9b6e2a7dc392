--- The Mann-Whitney test: is one arm's value usually larger than the other's?
local describe = require "iolua.stats.describe"
local special = require "iolua.stats.special"

local ranks = {}

-- Up to this many values in all the distribution is counted, ties included.
local EXACT = 40

-- Twice the mid-rank of every value of a followed by b (whole numbers even with ties), and
-- the sum of t^3 - t over groups of t equal values.
local function doubled_ranks(a, b)
  local all, result, ties = {}, {}, 0
  for i, v in ipairs(a) do all[i] = { v, i } end
  for i, v in ipairs(b) do all[#a + i] = { v, #a + i } end
  table.sort(all, function(x, y) return x[1] < y[1] end)
  local first = 1
  while first <= #all do
    local last = first
    while last < #all and all[last + 1][1] == all[first][1] do last = last + 1 end
    for i = first, last do result[all[i][2]] = first + last end
    ties = ties + (last - first + 1)^3 - (last - first + 1)
    first = last + 1
  end
  return result, ties
end

-- In how many ways k of the ranks have each sum: counts[sum], as floats.
local function rank_sums(all, k)
  local ways = { [0] = { [0] = 1.0 } }
  for taken = 1, k do ways[taken] = {} end
  for i, rank in ipairs(all) do
    for taken = math.min(i, k), 1, -1 do
      for sum, count in pairs(ways[taken - 1]) do
        ways[taken][sum + rank] = (ways[taken][sum + rank] or 0.0) + count
      end
    end
  end
  return ways[k]
end

local function exact_p(all, na, observed)
  local below, above, total = 0.0, 0.0, 0.0
  for sum, count in pairs(rank_sums(all, na)) do
    total = total + count
    if sum <= observed then below = below + count end
    if sum >= observed then above = above + count end
  end
  return math.min(1, 2 * math.min(below, above) / total)
end

-- Normal approximation with continuity and tie corrections.
local function normal_p(u, na, nb, ties)
  local n = na + nb
  local variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)))
  if variance <= 0 then return 1.0 end
  local z = (math.abs(u - na * nb / 2) - 0.5) / math.sqrt(variance)
  return math.min(1, 2 * special.normal_tail(math.max(0, z)))
end

-- The median of all b - a: by how much b is shifted (Hodges and Lehmann).
local function shift(a, b)
  local all = {}
  for _, x in ipairs(a) do
    for _, y in ipairs(b) do all[#all + 1] = y - x end
  end
  return describe.median(all)
end

--- Mann-Whitney test of two arms, exact up to 40 values in all.
---@param a number[]
---@param b number[]
---@return table? result  { u, p, exact, superiority, shift }: u of the second arm;
---  superiority the share of pairs in which b is larger (ties half); nil for an empty arm
function ranks.mann_whitney(a, b)
  local na, nb = describe.check(a, 2), describe.check(b, 2)
  if na == 0 or nb == 0 then return nil end
  local all, ties = doubled_ranks(a, b)
  local observed = 0
  for i = 1, na do observed = observed + all[i] end
  local u = na * nb - (observed / 2 - na * (na + 1) / 2)
  local exact = na + nb <= EXACT
  return {
    u = u, exact = exact, superiority = u / (na * nb), shift = shift(a, b),
    p = exact and exact_p(all, na, observed) or normal_p(u, na, nb, ties),
  }
end

return ranks
