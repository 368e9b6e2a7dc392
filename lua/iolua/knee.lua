--- Knee search: the highest rate or depth at which a latency keeps a bound.
--
-- First the knee is bracketed and halved with one run a point; then a few rates around it are
-- run `replicates` times each, every replicate in its own order of draws. Each replicate gives
-- the place where its latencies cross the bound (a line between the points, latency by its
-- logarithm); the knee is their mean, with a t interval.
local core = require "iolua.core"
local job = require "iolua.job"
local result = require "iolua.job.result"
local schema = require "iolua.schema"
local stats = require "iolua.stats"

local knee = {}

local METRICS = { p50 = 50, p90 = 90, p95 = 95, p99 = 99, p999 = 99.9, p9999 = 99.99,
  mean = "mean" }

local OWN = {
  over = { choices = { "rate_iops", "iodepth" }, default = "rate_iops", help = "what is varied" },
  low = { type = "number", min = 1, help = "where to begin; default 100 operations/s or depth 1" },
  high = { type = "number", min = 1, help = "the most; default 1e9 or 1024" },
  precision = { type = "number", default = 0.05, min = 0.001, max = 0.5,
    help = "share to which the bracket is halved" },
  spread = { type = "number", default = 0.1, min = 0.01, max = 0.5,
    help = "the replicated points lie up to that share around it" },
  replicates = { type = "integer", default = 5, min = 2, max = 1000, help = "near the knee" },
  seed = { type = "integer", default = 1, min = 0, help = "of all runs" },
}
for name in pairs(METRICS) do
  OWN[name] = { type = "duration", min = 1, help = "bound of that latency" }
end

local function split(options)
  local own, load = {}, {}
  for key, value in pairs(options) do
    if OWN[key] then own[key] = value else load[key] = value end
  end
  local o = schema.check(OWN, own, 3, "knee")
  local found
  for name, percent in pairs(METRICS) do
    if o[name] and found then error("knee: one bound at a time", 3) end
    if o[name] then found = { name = name, percent = percent, bound = o[name] } end
  end
  if not found then error("knee: a bound is needed, as in p99 = \"2ms\"", 3) end
  if load[o.over] then error(("knee: %s is what is searched"):format(o.over), 3) end
  return o, load, found
end

local function latency(r, metric)
  local all = core.hist.new()
  for _, name in ipairs { "read", "write" } do
    if r[name] then all:merge(r[name].lat) end
  end
  return metric.percent == "mean" and all:mean() or all:percentile(metric.percent)
end

local searching = {}
searching.__index = searching

-- One run at x: the latency in ns, also kept as a point.
function searching:measure(x, replicate)
  local options = { arrival = self.o.over == "rate_iops" and "poisson" or nil }
  for key, value in pairs(self.load) do options[key] = value end
  options[self.o.over], self.runs = x, self.runs + 1
  options.seed = self.o.seed + self.runs
  local r, message, errno = job.run(options)
  if not r then error({ message = message, errno = errno }, 0) end
  if result.ios(r) == 0 then
    local why = r.error or { reason = "no error either" }
    error({ message = "nothing completed: " .. why.reason, errno = why.errno }, 0)
  end
  local point = { x = x, value_ns = latency(r, self.metric), replicate = replicate,
    overloaded = r.pace and r.pace.overloaded or false }
  point.ok = point.value_ns <= self.metric.bound and not point.overloaded
  self.points[#self.points + 1] = point
  return point
end

function searching:round(x)
  return self.o.over == "iodepth" and math.max(1, math.floor(x + 0.5)) or x
end

-- The last x that keeps the bound and the first that does not; nil where there is none.
function searching:bracket()
  local depth = self.o.over == "iodepth"
  local x, most = self.o.low or (depth and 1 or 100), self.o.high or (depth and 1024 or 1e9)
  local good, bad
  x = self:round(x)
  while not bad do
    if not self:measure(x).ok then
      bad = x
    else
      good = x
      if x >= most then break end
      x = math.min(self:round(2 * x), most)
    end
  end
  return good, bad
end

function searching:halve(good, bad)
  local depth = self.o.over == "iodepth"
  while bad / good > 1 + self.o.precision and not (depth and bad - good <= 1) do
    local x = self:round(math.sqrt(good * bad))
    if x == good or x == bad then x = self:round((good + bad) / 2) end
    if x == good or x == bad then break end
    if self:measure(x).ok then good = x else bad = x end
  end
  return good, bad
end

-- Places around the bracket, each once, rising.
function searching:grid(good, bad)
  local middle, list = math.sqrt(good * bad), {}
  for i = -2, 2 do
    local x = self:round(middle * (1 + i / 2 * self.o.spread))
    if self.o.over == "iodepth" then x = math.max(1, math.floor(middle) + i) end
    if x ~= list[#list] then list[#list + 1] = x end
  end
  return list
end

-- Where one replicate's latencies cross the bound; whether that lies inside the grid.
local function crossing(points, bound)
  local function level(p) return math.log(p.overloaded and math.huge or p.value_ns) end
  local goal = math.log(bound)
  for i = #points, 1, -1 do
    if points[i].ok then
      local a, b = points[i], points[i + 1]
      if not b then return a.x, false end
      if b.overloaded then return (a.x + b.x) / 2, true end
      return a.x + (b.x - a.x) * (goal - level(a)) / (level(b) - level(a)), true
    end
  end
  return points[1].x, false
end

function searching:replicate(grid)
  local crossings, outside = {}, 0
  for i = 1, self.o.replicates do
    local points = {}
    for k, x in ipairs(grid) do points[k] = self:measure(x, i) end
    local at, inside = crossing(points, self.metric.bound)
    crossings[i] = at
    outside = outside + (inside and 0 or 1)
  end
  return crossings, outside
end

local UNIT = { rate_iops = "operations/s", iodepth = "in flight" }

local function sentence(found, metric)
  if not found.knee then
    return ("%s %s %s at %g %s"):format(metric.name, found.reason, metric.bound / 1e6 .. " ms",
      found.at, found.unit)
  end
  return ("%s keeps %g ms up to %.6g %s (%.6g to %.6g, %d replicates%s)"):format(metric.name,
    metric.bound / 1e6, found.knee, found.unit, found.low, found.high, found.replicates,
    found.outside > 0 and (", %d of them beyond the points"):format(found.outside) or "")
end

function searching:search()
  local found = { points = self.points, metric = self.metric.name, over = self.o.over,
    bound_ns = self.metric.bound, unit = UNIT[self.o.over] }
  local good, bad = self:bracket()
  if good and bad then
    local crossings
    good, bad = self:halve(good, bad)
    crossings, found.outside = self:replicate(self:grid(good, bad))
    local s = stats.summary(crossings)
    found.knee, found.low, found.high = s.mean, s.mean - s.half_width, s.mean + s.half_width
    found.replicates, found.crossings = s.n, crossings
    if self.o.over == "iodepth" then found.depth = math.floor(s.mean) end
  else
    found.reason, found.at = good and "still keeps" or "never keeps", good or bad
  end
  found.message = sentence(found, self.metric)
  return found
end

--- The highest rate or depth that keeps a bound.
---@param options table  p99 = "2ms" (or p50, p90, p95, p999, p9999, mean); over, low, high,
---  precision, spread, replicates, seed; the rest are a job's
---@return table? found  knee, low, high (95 %), unit, points, crossings, message; knee is nil
---  where the bound is kept or broken everywhere: `reason`, `at`
---@return string? message
---@return integer? errno
---@return table? partial  the points before the run that failed
---@async
function knee.search(options)
  local o, load, metric = split(options)
  local self = setmetatable({ o = o, load = load, metric = metric, points = {}, runs = 0 },
    searching)
  local ok, found = xpcall(self.search, function(e)
    return type(e) == "table" and e or { raised = debug.traceback(e, 2) }
  end, self)
  if ok then return found end
  if found.raised then error(found.raised, 0) end
  return nil, "knee: " .. found.message, found.errno, { points = self.points }
end

return setmetatable(knee, { __call = function(_, options) return knee.search(options) end })
