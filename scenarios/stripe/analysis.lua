-- What a stripe sweep tells: time per transfer, efficiency, what wrapping costs, where width
-- stops paying. Pure: also for the published figures of 2005.
local stats = require "iolua.stats"

local analysis = {}

--- Microseconds of one transfer of width x segment bytes at a rate, one at a time.
function analysis.transfer_us(width, segment, MB_per_s)
  return width * segment / MB_per_s
end

--- Share of `width` times the rate of one.
function analysis.efficiency(width, MB_per_s, single)
  return MB_per_s / (width * single)
end

--- The second row's cost once, and of each further row, from the times of a transfer of 1, 2,
--- 3 ... rows. A transfer of k rows takes times[1] + once + (k - 1) x per_row.
---@param times number[]
---@return number? once
---@return number? per_row
function analysis.wrapping(times)
  local k = #times
  if k < 3 then return nil end
  local per_row = (times[k] - times[2]) / (k - 2)
  return times[2] - times[1] - per_row, per_row
end

--- The same over blocks: lists of times, one a block -> summaries with intervals.
---@param blocks number[][]
---@return table? once     { mean, half_width, n, ... }
---@return table? per_row
---@return table? first    of the first row
function analysis.wrapping_of(blocks)
  local once, per_row, first = {}, {}, {}
  for _, times in ipairs(blocks) do
    local a, b = analysis.wrapping(times)
    if a then
      once[#once + 1], per_row[#per_row + 1], first[#first + 1] = a, b, times[1]
    end
  end
  if #once == 0 then return nil end
  return stats.summary(once), stats.summary(per_row), stats.summary(first)
end

local function whole(value)
  local text = ("%.0f"):format(value)
  return text == "-0" and "0" or text
end

local function interval(s)
  if not s.half_width then return whole(s.mean) .. " (one run)" end
  return whole(s.mean) .. " +- " .. whole(s.half_width)
end

-- Less than this share of the first row's time is no cost worth a word.
local SMALLEST = 0.02

--- In words.
---@param width integer
---@param once table     summaries, as of wrapping_of
---@param per_row table
---@param first table
---@return string
function analysis.wrapping_sentence(width, once, per_row, first)
  local clear = once.half_width and math.abs(once.mean) > once.half_width
    and math.abs(once.mean) > SMALLEST * first.mean
  local says
  if not once.half_width then
    says = "one run cannot tell it from none"
  elseif not clear then
    says = "no cost of wrapping itself is seen"
  else
    says = once.mean > 0 and "wrapping itself costs"
      or "a wrapping transfer is cheaper than its rows"
  end
  return ("%d member%s: first row %s us, each further one %s us, wrapping once %s us: %s."):format(
    width, width > 1 and "s" or "", interval(first), interval(per_row),
    interval(once), says)
end

--- Where does width stop paying? The bend of rate against width.
---@param widths number[]
---@param rates number[]  MB/s, by width
---@return table? fit
---@return string sentence
function analysis.bend(widths, rates)
  local distinct, seen = 0, {}
  for _, w in ipairs(widths) do
    if not seen[w] then seen[w], distinct = true, distinct + 1 end
  end
  if distinct < 4 then return nil, "Fewer than four widths do not tell where it stops paying." end
  local fit = stats.segmented(widths, rates)
  if not fit then return nil, "The widths do not tell where it stops paying." end
  if fit.p and fit.p > 0.05 or fit.after >= fit.before then
    return fit, ("No bend is seen up to %d members: each adds %.1f MB/s."):format(
      math.max(table.unpack(widths)), (fit.before + fit.after) / 2)
  end
  local range = fit.low and (" (%.1f to %.1f)"):format(fit.low, fit.high) or ""
  return fit, ("Width stops paying at %.1f members%s: before it each adds %.1f MB/s, after it "
    .. "%.1f."):format(fit.at, range, fit.before, fit.after)
end

return analysis
