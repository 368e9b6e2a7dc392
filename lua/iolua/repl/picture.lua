--- A histogram as a small picture: one line per power of two of ns that holds something.
local BAR = 40

local function duration(ns)
  if ns < 1000 then return ("%d ns"):format(ns) end
  if ns < 1000000 then return ("%.3g us"):format(ns / 1e3) end
  if ns < 1000000000 then return ("%.3g ms"):format(ns / 1e6) end
  return ("%.3g s"):format(ns / 1e9)
end

-- Counts by power of two of the buckets' upper edges.
local function by_power(h)
  local counts, first, last = {}, 64, -1
  for _, bucket in ipairs(h:buckets()) do
    local power = math.floor(math.log(math.max(bucket.upper, 1), 2))
    counts[power] = (counts[power] or 0) + bucket.count
    first, last = math.min(first, power), math.max(last, power)
  end
  return counts, first, last
end

local function head(h)
  if h:count() == 0 then return "histogram: empty" end
  return ("histogram: %d values, %s to %s, mean %s, p50 %s, p99 %s"):format(h:count(),
    duration(h:min()), duration(h:max()), duration(h:mean()), duration(h:percentile(50)),
    duration(h:percentile(99)))
end

--- The picture of a histogram as text.
return function(h)
  local out = { head(h) }
  local counts, first, last = by_power(h)
  local most = 0
  for _, n in pairs(counts) do most = math.max(most, n) end
  for power = first, last do
    local n = counts[power] or 0
    out[#out + 1] = ("%10s | %-" .. BAR .. "s %d"):format(duration(2 ^ power // 1),
      ("#"):rep((n * BAR + most - 1) // most), n)
  end
  return table.concat(out, "\n")
end
