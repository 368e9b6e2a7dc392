--- Histograms of rows as plain counts: any percentile, also years later.
--
-- { count, min_ns, max_ns, buckets = { { upper, count }, ... } }, in order; upper is the largest
-- duration of a bucket.
local counts = {}

--- The upper edge and the count of a bucket, in memory or as it stands on disk.
function counts.pair(bucket) return bucket[1] or bucket.upper, bucket[2] or bucket.count end

--- The percentile by nearest rank, as the histogram's own: exact rank, the bucket's upper edge
--- within [min, max].
---@param histogram table
---@param p number  0 .. 100
---@return integer? ns
function counts.percentile(histogram, p)
  if histogram.count == 0 then return nil end
  local micro = math.floor(p * 1000000 + 0.5)
  -- Exact: p has at most six decimals, counts stay below 2^63 / 10^8.
  local rank = math.max(1, (histogram.count * micro + 100000000 - 1) // 100000000)
  local seen = 0
  for _, bucket in ipairs(histogram.buckets) do
    local upper, count = counts.pair(bucket)
    seen = seen + count
    if seen >= rank then
      return math.max(histogram.min_ns, math.min(histogram.max_ns, upper))
    end
  end
  return histogram.max_ns
end

return counts
