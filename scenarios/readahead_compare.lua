-- Question: which read-ahead, on which layer, for which pattern, at what price?
-- Needs:    nothing as root (scratch disks and a volume over them), or a device or volume to
--           read, whose data stays as it is.   Takes: under two minutes by default.
-- Shows:    MB/s and amplification (bytes the disks read for each byte asked) by value, layer
--           and pattern; for each the smallest value that is as good as the best, and where
--           random work begins to read more than it asks for.
local iolua = require "iolua"
local layers = require "readahead.layers"
local patterns = require "readahead.patterns"

local NAMES = {}
for i, p in ipairs(patterns.list) do NAMES[i] = p[1] end

local opt = iolua.options {
  "Which read-ahead, on which layer, for which pattern, at what price?",
  device = { type = "path", help = "a device to read; default: a scratch disk" },
  volume = { type = "path", help = "a volume over it to read; default: a stripe of scratch disks" },
  values = { type = "string", list = true, default = { "0", "128k", "1m", "8m" },
    help = "read-ahead values" },
  patterns = { type = "string", list = true, default = NAMES,
    help = "of " .. table.concat(NAMES, ", ") },
  disks = { type = "integer", default = 2, min = 1, max = 16, help = "scratch disks" },
  size = { type = "size", default = "24m", help = "of each" },
  chunk = { type = "size", default = "64k", help = "of the stripe over them" },
  bandwidth = { type = "string", default = "200MB/s", help = "of each, where it can be limited" },
  operations = { type = "integer", default = 60, min = 4, help = "random ones in each run" },
  replicates = { type = "integer", default = 2, min = 1, help = "runs of each case" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  smallest = { type = "string", default = "2%", help = "smallest difference that is of interest" },
  experiment = true,
}

local function fail(message)
  error(setmetatable({ iolua_exit = 1, message = message },
    { __tostring = function(e) return e.message end }), 0)
end

local scratch <close> = not opt.device and not opt.volume and (function()
  local d, message = iolua.scratch.disks { count = opt.disks, size = opt.size, kind = "loop",
    bandwidth = opt.bandwidth }
  if not d then fail(message .. "; without scratch disks name a --device") end
  return d
end)() or nil

local by_name, layer_names = {}, {}
local function add(name, layer)
  by_name[name], layer_names[#layer_names + 1] = layer, name
end
if scratch then
  add("device", layers.device(scratch[1]))
  add("volume", layers.volume(scratch, opt.chunk))
else
  if opt.device then add("device", layers.device(opt.device)) end
  if opt.volume then add("volume", layers.device(opt.volume, opt.device and { opt.device })) end
end
local made = by_name.volume and by_name.volume.volume
local _ <close> = setmetatable({}, { __close = function() if made then made:close() end end })

-- Levels of the value: those asked for, as it was found, and two controls.
local levels = {}
for i, text in ipairs(opt.values) do
  local bytes, message = iolua.units.bytes(text)
  if not bytes then fail("values: " .. message) end
  levels[i] = text
end
local largest = levels[#levels]
for _, more in ipairs { "found", "advised", "direct" } do levels[#levels + 1] = more end

local function kib_of(case)
  if case.value == "found" or case.value == "direct" then return by_name[case.layer].found end
  local text = case.value == "advised" and largest or case.value
  return iolua.units.bytes(text) // 1024
end

local effective = {}

-- Set, read back, and only then open.
local function setup(case)
  local layer = by_name[case.layer]
  local kib, message = layer:set(kib_of(case))
  if not kib then return nil, message end
  effective[case.value] = kib
  local open, why = layer:open { direct = case.value == "direct" }
  if not open then return nil, why end
  if case.value == "advised" then
    for _, f in ipairs(open.files) do f:advise(0, f:size(), "random") end
  end
  local closing = { kib = kib, open = open }
  closing.close = function()
    if open.volume then open.volume:close() end
    for _, f in ipairs(open.files) do f:close() end
  end
  return closing
end

local function measure(case, c, run)
  local layer = by_name[case.layer]
  local before = layer:counted()
  local work, message = patterns[case.pattern].run { layer = layer, open = c.open,
    operations = opt.operations, seed = run.seed, direct = case.value == "direct" or nil,
    advise = case.value == "advised" and "random" or nil }
  if not work then return nil, message end
  local after = layer:counted()
  local bytes, requests = after.bytes - before.bytes, after.requests - before.requests
  if bytes < 0 then return nil, "the disk's counters went backwards" end
  return { MB_per_s = work.bytes / work.ns * 1e3, amplification = bytes / work.bytes,
    p99_ms = work.p99_ns / 1e6, request_kib = requests > 0 and bytes / requests / 1024 or nil,
    unchanged = layer:get() == c.kib }
end

local function exclude(case)
  if case.pattern ~= "mmap" then return nil end
  if case.value == "direct" then return "mmap has no direct I/O" end
  if not by_name[case.layer].kernel then return "a volume in user space cannot be mapped" end
end

-- Random places may touch a page twice; the stream in `mixed` brings some of them.
local function read_less(row)
  local v = row.values
  local once = row.levels.pattern ~= "mixed" and row.levels.pattern ~= "extents"
  if v.amplification < 0.99 and once then
    return ("the disks read %.2f bytes for each byte asked: the cache was not empty"):format(
      v.amplification)
  end
  return v.unchanged == false and "the read-ahead was changed meanwhile" or nil
end

local result = iolua.experiment {
  name = "readahead-compare", question = "Which read-ahead, on which layer, for which pattern?",
  factors = { layer = layer_names, pattern = opt.patterns, value = levels },
  order = { "layer", "pattern", "value" }, exclude = exclude, replicates = opt.replicates,
  seed = opt.seed, options = opt, metrics = { "MB_per_s", "amplification", "p99_ms" },
  gates = { read_less }, setup = setup, measure = measure, run_time = "300ms",
  changes = function(case) return { "read_ahead_kb of " .. case.layer } end,
}

local function mean_of(layer, pattern, value, metric)
  local sum, n = 0, 0
  for _, row in ipairs(result.rows) do
    local l = row.levels
    if l and l.layer == layer and l.pattern == pattern and l.value == value and row.values
      and not row.void and not row.error and row.values[metric] then
      sum, n = sum + row.values[metric], n + 1
    end
  end
  return n > 0 and sum / n or nil
end

local function number(v) return v and (v >= 100 and "%.0f" or "%.1f"):format(v) or "-" end

local function table_of(layer)
  local lines = { ("%-11s"):format("MB/s (x)") }
  for _, value in ipairs(levels) do lines[1] = lines[1] .. ("%15s"):format(value) end
  for _, pattern in ipairs(opt.patterns) do
    local line = ("%-11s"):format(pattern)
    for _, value in ipairs(levels) do
      line = line .. ("%15s"):format(("%s (%s)"):format(
        number(mean_of(layer, pattern, value, "MB_per_s")),
        number(mean_of(layer, pattern, value, "amplification"))))
    end
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

-- Levels that are values of the read-ahead, rising, that were measured.
local function measured_values(layer, pattern)
  local list = {}
  for _, text in ipairs(opt.values) do
    if mean_of(layer, pattern, text, "MB_per_s") then list[#list + 1] = text end
  end
  return list
end

local function best_of(layer, pattern, list)
  local best, top
  for _, value in ipairs(list) do
    local mean = mean_of(layer, pattern, value, "MB_per_s")
    if not top or mean > top then best, top = value, mean end
  end
  return best
end

-- The smallest value that is equivalent to the best one.
local function smallest_equal(layer, pattern, list, best)
  local ok, c = pcall(result.compare, result, { factor = "value", metric = "MB_per_s",
    baseline = best, smallest = opt.smallest, only = list,
    within = { layer = layer, pattern = pattern } })
  if not ok then return nil, tostring(c) end
  for _, value in ipairs(list) do
    for _, arm in ipairs(c.arms) do
      if arm.level == value and arm.verdict == "equivalent" then return value end
    end
    if value == best then return nil end
  end
end

local function price(layer, pattern, list)
  if not patterns[pattern].random then return "" end
  local least = math.huge
  for _, value in ipairs(list) do
    least = math.min(least, mean_of(layer, pattern, value, "amplification"))
  end
  for _, value in ipairs(list) do
    local x = mean_of(layer, pattern, value, "amplification")
    if x > 1.5 * least then
      return ("; from %s on it reads more than it asks for: %.1f times, against %.1f"):format(
        value, x, least)
    end
  end
  return "; no value reads more than another"
end

local function sentence(layer, pattern)
  local list = measured_values(layer, pattern)
  if #list == 0 then return ("%s, %s: not measured"):format(layer, pattern) end
  local best = best_of(layer, pattern, list)
  local equal = smallest_equal(layer, pattern, list, best)
  local text
  if equal then
    text = ("%s is equivalent to the best (%s)"):format(equal, best)
  elseif best == list[1] then
    text = ("%s, the smallest, is the fastest"):format(best)
  else
    text = ("%s is the fastest; that a smaller value is equivalent within %s is not shown by "
      .. "%d runs"):format(best, opt.smallest, opt.replicates)
  end
  return ("%s, %s: %s%s"):format(layer, pattern, text, price(layer, pattern, list))
end

if opt.quiet or opt.plan then return end
print("read-ahead: which value, on which layer, for which pattern, at what price?")
for _, name in ipairs(layer_names) do
  print(("%-8s %s; found at %d KiB (%d sectors)"):format(name, by_name[name].text,
    by_name[name].found, 2 * by_name[name].found))
end
for _, value in ipairs(levels) do
  local kib = effective[value]
  if kib then
    print(("value    %-8s effective %d KiB, %d sectors of 512"):format(value, kib, 2 * kib))
  end
end
print("advised  FADV_RANDOM at the largest value; direct  no page cache: the reference\n")
for _, name in ipairs(layer_names) do
  print(("%s: MB/s, and in brackets bytes read by the disks for each byte asked"):format(name))
  print(table_of(name) .. "\n")
end
for _, name in ipairs(layer_names) do
  for _, pattern in ipairs(opt.patterns) do print(sentence(name, pattern)) end
end
print()
if scratch then
  print(("lacks: scratch disks share one real disk%s: a test of the method, no finding")
    :format(scratch.throttled and " and are throttled to " .. opt.bandwidth or ""))
end
if by_name.volume and not by_name.volume.kernel then
  print("lacks: no device-mapper here: the volume's own read-ahead was not varied")
end
local failed, void = result:lost()
if failed + void > 0 then
  print(("lacks: %d runs failed, %d are void: see the rows (--save)"):format(failed, void))
  local told = {}
  for _, row in ipairs(result.rows) do
    local why = row.error or row.void
    if why and not told[why] then print(("  %s: %s"):format(row.label, why)) end
    if why then told[why] = true end
  end
end
