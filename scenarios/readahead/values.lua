--- Values of the read-ahead by layer and pattern: rates, what the disks read, and the verdicts.
local iolua = require "iolua"
local patterns = require "readahead.patterns"

local values = {}

local CONTROLS = { "found", "advised", "direct" }

-- Levels of the value: those asked for, as it was found, and two controls.
local function levels_of(opt)
  local levels = table.move(opt.values, 1, #opt.values, 1, {})
  return table.move(CONTROLS, 1, #CONTROLS, #levels + 1, levels)
end

local function kib_of(ctx, case)
  local found = ctx.layers[case.layer].found
  if case.value == "found" or case.value == "direct" or ctx.fixed then return found end
  local text = case.value == "advised" and ctx.opt.values[#ctx.opt.values] or case.value
  return iolua.units.bytes(text) // 1024
end

-- Set, read back, and only then open.
function values.setup(ctx, layer, kib, value)
  local taken, message = layer:set(kib)
  if not taken then return nil, message end
  local open, why = layer:open { direct = value == "direct" }
  if not open then return nil, why end
  if value == "advised" then
    for _, f in ipairs(open.files) do f:advise(0, f:size(), "random") end
  end
  return { kib = taken, open = open, value = value, layer = layer, close = open.close,
    operations = ctx.opt.operations, span = layer.span, direct = value == "direct" or nil,
    advise = value == "advised" and "random" or nil }
end

--- Do a pattern's work and count what the disks read for it.
function values.measure(c, pattern, run)
  c.seed, c.base = run.seed, c.layer:place(run.seed)
  local before = c.layer:counted()
  local work, message = pattern(c)
  if not work then return nil, message end
  local after = c.layer:counted()
  local bytes, requests = after.bytes - before.bytes, after.requests - before.requests
  if bytes < 0 then return nil, "the disk's counters went backwards" end
  return { MB_per_s = work.bytes / work.ns * 1e3, amplification = bytes / work.bytes,
    p99_ms = work.p99_ns / 1e6, request_kib = requests > 0 and bytes / requests / 1024 or nil,
    left_MB = c.open.left_bytes / 1e6, unchanged = c.layer:get() == c.kib }
end

local function exclude(ctx)
  return function(case)
    if case.pattern ~= "mmap" then return nil end
    if case.value == "direct" then return "mmap has no direct I/O" end
    if not ctx.layers[case.layer].kernel then return "a volume in user space cannot be mapped" end
  end
end

-- Random places may touch a page twice; the stream in `mixed` brings some of them.
function values.gate(row)
  local v, pattern = row.values, row.levels.pattern
  local once = pattern ~= "mixed" and pattern ~= "extents"
  if v.amplification < 0.99 and once then
    return ("the disks read %.2f bytes for each byte asked: the cache was not empty"):format(
      v.amplification)
  end
  return v.unchanged == false and "the read-ahead was changed meanwhile" or nil
end

--- About how long a run takes here, ns: three runs of the first layer, as found.
function values.pilot(ctx)
  local layer, clock = ctx.layers[ctx.names[1]], require("iolua.core").clock
  local begin = clock.now()
  iolua.experiment { name = "readahead-pilot", duplicate = false, quiet = true, seed = 1,
    factors = { pattern = { "sequential", "streams", "random" } },
    setup = function() return values.setup(ctx, layer, layer.found, "found") end,
    measure = function(case, c, run) return values.measure(c, patterns[case.pattern].run, run) end,
  }
  return (clock.now() - begin) // 3
end

--- Run it.
function values.run(ctx)
  local opt, levels = ctx.opt, levels_of(ctx.opt)
  local bound <close> = ctx.bound()
  return iolua.experiment {
    name = "readahead-compare", question = "Which read-ahead, on which layer, for which pattern?",
    factors = { layer = ctx.names, pattern = opt.patterns, value = levels },
    order = { "layer", "pattern", "value" }, exclude = exclude(ctx),
    replicates = opt.replicates, seed = opt.seed, options = opt,
    metrics = { "MB_per_s", "amplification", "p99_ms" }, gates = { values.gate },
    run_time = "400ms", changes = function(case) return { "read_ahead_kb of " .. case.layer } end,
    setup = function(case)
      return values.setup(ctx, ctx.layers[case.layer], kib_of(ctx, case), case.value)
    end,
    measure = function(case, c, run)
      ctx.effective[case.layer .. " " .. case.value] = c.kib
      return values.measure(c, patterns[case.pattern].run, run)
    end,
  }
end

--- Mean of a metric over the runs that count, whose levels are those given.
function values.mean(result, levels, metric)
  local sum, n = 0, 0
  for _, row in ipairs(result.rows) do
    local fits = row.levels and row.values and not row.void and not row.error
    for name, level in pairs(fits and levels or {}) do
      fits = fits and row.levels[name] == level
    end
    if fits and row.values[metric] then sum, n = sum + row.values[metric], n + 1 end
  end
  return n > 0 and sum / n or nil
end

--- Three digits and no more.
function values.number(v)
  if not v then return "-" end
  return (v >= 100 and "%.0f" or v >= 10 and "%.1f" or "%.2f"):format(v)
end

local function header(ctx, name, levels)
  local cells = { {}, {}, {} }
  for i, value in ipairs(levels) do
    local kib = value ~= "direct" and ctx.effective[name .. " " .. value] or nil
    cells[1][i], cells[2][i] = value, kib and ("%d"):format(kib) or "-"
    cells[3][i] = kib and ("%d"):format(2 * kib) or "-"
  end
  local lines = {}
  for i, title in ipairs { "value", "  in KiB", "  in sectors" } do
    lines[i] = ("%-13s"):format(title)
    for _, cell in ipairs(cells[i]) do lines[i] = lines[i] .. ("%14s"):format(cell) end
  end
  return table.concat(lines, "\n")
end

--- The table of a layer: effective values in both units, then a line a pattern.
function values.table(ctx, result, name)
  local opt, levels = ctx.opt, levels_of(ctx.opt)
  local lines = { header(ctx, name, levels) }
  for _, pattern in ipairs(opt.patterns) do
    local line = ("%-13s"):format(pattern)
    for _, value in ipairs(levels) do
      local at = { layer = name, pattern = pattern, value = value }
      local rate = values.mean(result, at, "MB_per_s")
      line = line .. ("%14s"):format(rate and ("%s (%s)"):format(values.number(rate),
        values.number(values.mean(result, at, "amplification"))) or "-")
    end
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

return values
