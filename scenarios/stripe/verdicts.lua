-- What the sweep's results allow to be said: sentences, and rates by width for the chart.
--
-- `sweep` is { widths, widest, segments, segment_names, chunk, iodepth, replicates, list }.
local iolua = require "iolua"
local analysis = require "stripe.analysis"

local verdicts = {}

-- values[width][segment][depth][block] of a metric, of the rows that count.
local function by_block(result, metric)
  local values = {}
  for _, row in ipairs(result.rows) do
    local value = row.values and row.values[metric]
    if value and not row.void and not row.error and not row.warm_up and not row.duplicate then
      local l = row.levels
      local w = values[l.width] or {}
      local s = w[l.segment] or {}
      local d = s[l.depth] or {}
      values[l.width], w[l.segment], s[l.depth] = w, s, d
      d[row.block] = value
    end
  end
  return values
end

local function listed(blocks)
  local values = {}
  for _, value in pairs(blocks or {}) do values[#values + 1] = value end
  return values
end

-- rates[segment][width] at one depth.
function verdicts.rates_at(sweep, result, depth)
  local values, rates = by_block(result, "MB_per_s"), {}
  for _, segment in ipairs(sweep.segment_names) do
    rates[segment] = {}
    for _, w in ipairs(sweep.widths) do
      local s = values[w] and values[w][segment]
      rates[segment][w] = listed(s and s[depth])
    end
  end
  return rates
end

-- Segments of 1, 2, 3 ... rows, those that are whole rows.
local function row_segments(sweep)
  local names = {}
  for i, bytes in ipairs(sweep.segments) do
    if bytes ~= i * sweep.chunk then break end
    names[i] = sweep.segment_names[i]
  end
  return names
end

function verdicts.wrapping_sentences(sweep, result)
  local times, rows, sentences = by_block(result, "us_per_transfer"), row_segments(sweep), {}
  if #rows < 3 then
    return { ("Segments of 1, 2 and 3 rows of %s are needed to tell what wrapping costs."):format(
      iolua.units.format_size(sweep.chunk)) }
  end
  for _, w in ipairs(sweep.widths) do
    local blocks = {}
    for block = 1, sweep.replicates do
      local of_rows = {}
      for _, segment in ipairs(rows) do
        local depths = times[w] and times[w][segment] or {}
        of_rows[#of_rows + 1] = (depths[1] or {})[block]        -- nil: void or failed
      end
      if #of_rows == #rows then blocks[#blocks + 1] = of_rows end
    end
    local once, per_row, first = analysis.wrapping_of(blocks)
    if once then
      sentences[#sentences + 1] = analysis.wrapping_sentence(w, once, per_row, first)
    end
  end
  return sentences
end

function verdicts.bend_sentence(sweep, rates, segment)
  local x, y = {}, {}
  for _, w in ipairs(sweep.widths) do
    for _, rate in ipairs(rates[segment][w] or {}) do x[#x + 1], y[#y + 1] = w, rate end
  end
  local _, sentence = analysis.bend(x, y)
  return sentence
end

function verdicts.ceiling_rates(sweep, result)
  local at = {}
  for _, row in ipairs(result.rows) do
    local n = math.tointeger(tonumber(row.levels.members:match("%d+$")))
    local once = row.levels.members:find("^at once") or n == 1
    if once and row.values and not row.void and row.values.MB_per_s then
      at[n] = at[n] or {}
      table.insert(at[n], row.values.MB_per_s)
    end
  end
  return at
end

function verdicts.ceiling_sentence(sweep, at, rates, segment)
  local s = iolua.stats.summary(at[sweep.widest] or {})
  local best = iolua.stats.summary(rates[segment][sweep.widest] or {})
  if not s.mean or not best.mean then return nil end
  return ("All %d members at once give %.1f MB/s; the stripe %.1f at depth %d: %.0f %% of it.")
    :format(sweep.widest, s.mean, best.mean, sweep.iodepth, 100 * best.mean / s.mean)
end

-- Members that alone are over 5 % away from the middle one: a stripe goes at its slowest.
function verdicts.outlier_sentences(sweep, result)
  local means, sorted = {}, {}
  for i = 1, sweep.widest do
    local rates = {}
    for _, row in ipairs(result.rows) do
      local own = row.levels.members == ("alone %d"):format(i)
      if own and row.values and not row.void then rates[#rates + 1] = row.values.MB_per_s end
    end
    means[i] = iolua.stats.summary(rates).mean
    sorted[#sorted + 1] = means[i]
  end
  table.sort(sorted)
  local middle, sentences = sorted[(#sorted + 1) // 2], {}
  for i = 1, sweep.widest do
    local off = means[i] and middle and 100 * (means[i] / middle - 1) or 0
    if math.abs(off) > 5 then
      sentences[#sentences + 1] = ("Member %d, %s, alone is %.0f %% %s than the middle one.")
        :format(i, sweep.list[i].path, math.abs(off), off < 0 and "slower" or "faster")
    end
  end
  return sentences
end

--- All of them, in order.
---@param sweep table
---@param alone iolua.result   members alone and at once
---@param result iolua.result  of the sweep
---@return string[]
function verdicts.sentences(sweep, alone, result)
  local saturated = verdicts.rates_at(sweep, result, sweep.iodepth)
  local single = verdicts.rates_at(sweep, result, 1)
  local first, last = sweep.segment_names[1], sweep.segment_names[#sweep.segment_names]
  local list = {
    ("%s a segment, one transfer at a time: %s"):format(first,
      verdicts.bend_sentence(sweep, single, first)),
    ("%s a segment, %d at once: %s"):format(last, sweep.iodepth,
      verdicts.bend_sentence(sweep, saturated, last)),
  }
  list[#list + 1] = verdicts.ceiling_sentence(sweep, verdicts.ceiling_rates(sweep, alone),
    saturated, last)
  table.move(verdicts.wrapping_sentences(sweep, result), 1, 100, #list + 1, list)
  table.move(verdicts.outlier_sentences(sweep, alone), 1, 100, #list + 1, list)
  return list
end

return verdicts
