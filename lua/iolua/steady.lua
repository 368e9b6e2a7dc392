--- When to stop: steady state by rounds, preconditioning, and replicates until an interval is
--- narrow enough.
--
-- Steady is what SNIA's performance test specification calls so: over the last `window` rounds
-- the values lie within a band of their mean, and a straight line through them changes by less
-- than a share of it. Each of these says what it saw.
local job = require "iolua.job"
local result = require "iolua.job.result"
local schema = require "iolua.schema"
local stats = require "iolua.stats"

local steady = {}

local RULE = {
  window = { type = "integer", default = 5, min = 3, max = 1000, help = "rounds looked at" },
  band = { type = "number", default = 0.20, min = 0,
    help = "largest less smallest, as a share of the mean" },
  slope = { type = "number", default = 0.10, min = 0,
    help = "change of the fitted line over the window, as a share of the mean" },
}

-- The window that ends with round `last`.
local function look(values, last, rule)
  local window = table.move(values, last - rule.window + 1, last, 1, {})
  local low, high, sum = math.huge, -math.huge, 0.0
  for _, v in ipairs(window) do
    low, high, sum = math.min(low, v), math.max(high, v), sum + v
  end
  local mean = sum / rule.window
  local seen = { first = last - rule.window + 1, last = last, mean = mean,
    band = (high - low) / mean, slope = math.abs(stats.drift(window).change) / mean }
  seen.steady = seen.band <= rule.band and seen.slope <= rule.slope
  return seen
end

local function sentence(seen, rule)
  if not seen.last then
    return ("not steady: %d rounds, a window has %d"):format(seen.rounds, rule.window)
  end
  return ("%s: rounds %d to %d, mean %.6g, within %.1f %% (%.0f allowed), drift %.1f %% (%.0f)")
    :format(seen.steady and "steady" or "not steady", seen.first, seen.last, seen.mean,
      100 * seen.band, 100 * rule.band, 100 * seen.slope, 100 * rule.slope)
end

local function find(values, rule)
  local seen = { steady = false }
  for last = rule.window, #values do
    seen = look(values, last, rule)
    if seen.steady then break end
  end
  seen.rounds, seen.values = #values, values
  seen.message = sentence(seen, rule)
  return seen
end

--- Where does a series become steady? The first window that is; else the last one.
---@param values number[]  positive, one a round
---@param options? { window: integer, band: number, slope: number }
---@return table seen  steady, first, last, mean, band, slope (shares), rounds, message
function steady.of(values, options)
  return find(values, schema.check(RULE, options or {}, 2, "steady.of"))
end

-- Options of the search -> its own checked ones, and a job's.
local function split(spec, options, level, name)
  local own, load = {}, {}
  for key, value in pairs(options) do
    if spec[key] then own[key] = value else load[key] = value end
  end
  return schema.check(spec, own, level + 1, name), load
end

local ROUNDS = {
  round = { type = "duration", default = "60s", help = "time of each round" },
  rounds = { type = "integer", default = 25, min = 3, help = "the most" },
  metric = { type = "function", help = "of a job's result; default: operations a second" },
}
for key, value in pairs(RULE) do ROUNDS[key] = value end

local function default_metric(r)
  return result.ios(r) / (r.elapsed_ns / 1e9)
end

local function rounds_of(o, load)
  local values, seen = {}, find({}, o)
  local metric = o.metric or default_metric
  for round = 1, o.rounds do
    local options = { runtime = o.round }
    for key, value in pairs(load) do options[key] = value end
    if load.seed then options.seed = load.seed + round - 1 end
    local r, message, errno = job.run(options)
    if not r then return nil, message, errno, seen end
    if result.ios(r) == 0 then
      return nil, ("round %d: nothing completed%s"):format(round,
        r.error and ": " .. r.error.reason or ""), r.error and r.error.errno, seen
    end
    values[round] = metric(r)
    seen = find(values, o)
    if seen.steady then break end
  end
  return seen
end

--- Run a load in rounds until it is steady, or for so many rounds.
---@param options table  window, band, slope, round, rounds, metric; the rest are a job's
---@return table? seen   as of steady.of
---@return string? message
---@return integer? errno
---@return table? seen    of the rounds before the one that failed
---@async
function steady.run(options)
  return rounds_of(split(ROUNDS, options, 2, "steady"))
end

-- Sequential writes over the whole region, `passes` times.
local function fill(load, passes)
  for _ = 1, passes do
    local r, message, errno = job.run { target = load.target, rw = "write", bs = "128k",
      iodepth = load.iodepth or 32, offset = load.offset, size = load.size, engine = load.engine,
      direct = load.direct, overwrite = load.overwrite, destroy = load.destroy }
    if not r then return nil, message, errno end
  end
  return true
end

local function discard(target, load)
  if type(target) ~= "userdata" then return nil, "no discard on such a target" end
  local size = load.size and require("iolua.units").bytes(load.size) or target:size()
  local offset = load.offset and require("iolua.units").bytes(load.offset) or 0
  return target:discard(offset, size - (load.size and 0 or offset))
end

local PRECONDITION = {
  discard = { type = "boolean", default = true, help = "discard first, where that can be had" },
  passes = { type = "integer", default = 2, min = 0, help = "sequential writes of all of it" },
}
for key, value in pairs(ROUNDS) do PRECONDITION[key] = value end

--- Bring a device to its steady state: discard, write it twice over, then run the load of the
--- options until that is steady.
---@param options table  target (opened for writing), a job's options; discard, passes; and
---  those of steady.run
---@return table? seen   as of steady.of, and discarded, discard_message, passes
---@return string? message
---@return integer? errno
---@return table? seen    of the rounds before the one that failed
---@async
function steady.precondition(options)
  local o, load = split(PRECONDITION, options, 2, "precondition")
  local discarded, why
  if o.discard then discarded, why = discard(load.target, load) end
  local ok, message, errno = fill(load, o.passes)
  if not ok then return nil, message, errno end
  local seen, failed, code, before = rounds_of(o, load)
  if not seen then return nil, failed, code, before end
  seen.discarded, seen.discard_message = discarded or false, why
  seen.passes = o.passes
  return seen
end

local SAMPLE = {
  measure = { type = "function", required = true, help = "called with the run's number: a value" },
  stop = { type = "string", default = "ci:1%", help = "half-width of the interval to reach" },
  looks = { type = "any", default = { 5, 10, 20, 40 }, help = "runs after which it is looked" },
  confidence = { type = "number", default = 0.95, help = "of the interval, over all looks" },
}

local function share_of(text)
  local percent = tonumber(text:match("^ci:([%d.]+)%%$"))
  if not percent or percent <= 0 then
    error(("sample: stop = %q; write as in \"ci:1%%\""):format(text), 4)
  end
  return percent / 100
end

--- Replicates until the mean's interval is narrow enough, looked at only after so many runs as
--- `looks` says: each look has its share of the error (Bonferroni), so that the interval keeps
--- its confidence whenever it stops.
---@param options table   measure, stop, looks, confidence
---@return table? seen    reached, n, mean, half_width, share, look, values, message
---@return string? message  where a run gave nil and a message: which one, and that
---@return any errno      what it gave beside
---@return table? seen    values of the runs before
function steady.sample(options)
  local o = schema.check(SAMPLE, options, 2, "sample")
  local goal, values, seen = share_of(o.stop), {}, nil
  local confidence = 1 - (1 - o.confidence) / #o.looks
  for i, runs in ipairs(o.looks) do
    for n = #values + 1, runs do
      local value, message, errno = o.measure(n)
      if value == nil then
        return nil, ("run %d: %s"):format(n, tostring(message or "no value")), errno,
          { reached = false, n = #values, values = values }
      end
      values[n] = value
    end
    local s = stats.summary(values, { confidence = confidence })
    seen = { n = s.n, mean = s.mean, half_width = s.half_width, look = i, values = values,
      share = s.half_width / math.abs(s.mean) }
    seen.reached = seen.share <= goal
    if seen.reached then break end
  end
  seen.message = ("%s: %.6g +- %.3g (%.2f %%, goal %.2f %%) after %d runs, look %d of %d at %g %%")
    :format(seen.reached and "reached" or "not reached", seen.mean, seen.half_width,
      100 * seen.share, 100 * goal, seen.n, seen.look, #o.looks, 100 * confidence)
  return seen
end

return setmetatable(steady, { __call = function(_, options) return steady.run(options) end })
