--- Verdicts, a sentence a pattern: the smallest value as good as the best, and the price.
local patterns = require "readahead.patterns"
local values = require "readahead.values"

local verdicts = {}

local SAME = 1.02               -- times the bytes of the cheapest value: no difference
local LOSES = 1.5               -- times the bytes of the cheapest value: random work loses

local function at(layer, pattern, value)
  return { layer = layer, pattern = pattern, value = value }
end

-- Levels that are values of the read-ahead, rising, that were measured.
local function measured(ctx, result, layer, pattern)
  local list = {}
  for _, text in ipairs(ctx.opt.values) do
    if values.mean(result, at(layer, pattern, text), "MB_per_s") then list[#list + 1] = text end
  end
  return list
end

local function best_of(result, layer, pattern, list)
  local best, top
  for _, value in ipairs(list) do
    local mean = values.mean(result, at(layer, pattern, value), "MB_per_s")
    if not top or mean > top then best, top = value, mean end
  end
  return best
end

-- Verdicts by value against a baseline, or nil.
local function compared(ctx, result, layer, pattern, list, metric, baseline)
  local ok, c = pcall(result.compare, result, { factor = "value", metric = metric,
    baseline = baseline, smallest = ctx.opt.smallest, only = list,
    within = { layer = layer, pattern = pattern } })
  if not ok then return {} end
  local by_value = {}
  for _, arm in ipairs(c.arms) do
    if arm.level then by_value[arm.level] = arm.verdict end       -- not the A/A arm
  end
  return by_value
end

-- Rates: which value is enough.
local function enough(ctx, result, layer, pattern, list)
  local best = best_of(result, layer, pattern, list)
  local said = compared(ctx, result, layer, pattern, list, "MB_per_s", best)
  for _, value in ipairs(list) do
    if value == best then break end
    if said[value] == "equivalent" then
      return ("%s is as good as the fastest (%s) within %s"):format(value, best, ctx.opt.smallest)
    end
  end
  if best == list[1] then return ("%s, the smallest, is the fastest"):format(best) end
  local slower = {}
  for _, value in ipairs(list) do
    if said[value] == "slower" then slower[#slower + 1] = value end
  end
  return ("%s was the fastest; whether less is as good within %s, %d run%s cannot tell%s"):format(
    best, ctx.opt.smallest, ctx.opt.replicates, ctx.opt.replicates == 1 and "" or "s",
    #slower > 0 and " (surely slower: " .. table.concat(slower, ", ") .. ")" or "")
end

-- Bytes, which repeat from run to run where rates do not: where random work begins to lose.
local function price(result, layer, pattern, list)
  local least, most = math.huge, 0
  local function read(value)
    return values.mean(result, at(layer, pattern, value), "amplification")
  end
  for _, value in ipairs(list) do
    least, most = math.min(least, read(value)), math.max(most, read(value))
  end
  for _, value in ipairs(list) do
    if read(value) > LOSES * least then
      return ("loses from %s on (%s bytes read for each byte asked, against %s)"):format(value,
        values.number(read(value)), values.number(least))
    end
  end
  if most <= SAME * least then
    return ("equivalent: every value reads %s bytes for each byte asked"):format(
      values.number(most))
  end
  return ("loses little: %s to %s bytes read for each byte asked"):format(values.number(least),
    values.number(most))
end

local function sentence(ctx, result, layer, pattern)
  local list = measured(ctx, result, layer, pattern)
  local found = ctx.fixed and at(layer, pattern, "found")
  if found and values.mean(result, found, "MB_per_s") then
    return ("as found %s MB/s, %s bytes read for each byte asked; other values are root's to set")
      :format(values.number(values.mean(result, found, "MB_per_s")),
        values.number(values.mean(result, found, "amplification")))
  end
  if #list == 0 then
    local why = pattern == "mmap" and not ctx.layers[layer].kernel
      and "a volume in user space cannot be mapped" or "no run counts"
    return "not measured: " .. why
  end
  local text = enough(ctx, result, layer, pattern, list)
  if not patterns[pattern].random then return text end
  return price(result, layer, pattern, list) .. "; " .. text
end

--- The verdicts of a layer, a line a pattern.
function verdicts.lines(ctx, result, layer)
  local lines = {}
  for _, pattern in ipairs(ctx.opt.patterns) do
    lines[#lines + 1] = ("%-13s%s"):format(pattern, sentence(ctx, result, layer, pattern))
  end
  return table.concat(lines, "\n")
end

return verdicts
