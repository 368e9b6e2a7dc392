-- Question: which read-ahead, on which layer, for which pattern, at what price?
-- Needs:    nothing as root (scratch disks and a volume over them), or a device or volume to
--           read, whose data stays as it is.   Takes: under two minutes by default.
-- Shows:    MB/s and amplification (bytes the disks read for each byte asked) by value, layer
--           and pattern; for each the smallest value that is as good as the best, and where
--           random work begins to lose; whether the volume's value or its members' counts; what
--           happens when memory is short; and five copies of bonnie's tests in step.
local iolua = require "iolua"
local layers = require "readahead.layers"
local patterns = require "readahead.patterns"
local values = require "readahead.values"

local NAMES, VIEWS = {}, { "values", "legs", "thrash", "copies" }
for i, p in ipairs(patterns.list) do NAMES[i] = p[1] end

local opt = iolua.options {
  "Which read-ahead, on which layer, for which pattern, at what price?",
  views = { type = "string", list = true, default = VIEWS,
    help = "of values, legs (volume against members), thrash (memory is short), copies" },
  device = { type = "path", help = "a device, or a file on it, to read; default: a scratch disk" },
  volume = { type = "path", help = "a volume, or a file on it; default: a stripe of scratch disks" },
  span = { type = "size", default = "64m", min = 1 << 20,
    help = "read of it in a run, at a place of its own" },
  values = { type = "string", list = true, default = { "0", "128k", "4m" },
    help = "read-ahead values, rising" },
  patterns = { type = "string", list = true, default = NAMES,
    help = "of " .. table.concat(NAMES, ", ") },
  drop = { choices = { "fadvise", "blkflsbuf", "drop_caches" }, default = "fadvise",
    help = "how the cache is dropped before each run; drop_caches: everybody's on this machine" },
  memory = { type = "size", min = 4 << 20, help = "bound the process's memory to it (cgroup)" },
  copies = { type = "integer", default = 5, min = 1, max = 16, help = "of bonnie, in step" },
  files = { type = "integer", default = 1, min = 1, max = 64, help = "of each copy, in 1024" },
  disks = { type = "integer", default = 2, min = 1, max = 16, help = "scratch disks" },
  size = { type = "size", default = "8m", help = "of each" },
  folder = { type = "path", help = "where they are; default: the first of those on a disk" },
  chunk = { type = "size", default = "64k", help = "of the stripe over them" },
  bandwidth = { type = "string", default = "40MB/s", help = "of each, where it can be limited" },
  operations = { type = "integer", default = 60, min = 4, help = "random ones in each run" },
  replicates = { type = "integer", min = 1,
    help = "runs of each case; default: 2, and 1 where that would take long" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  smallest = { type = "string", default = "2%", help = "smallest difference that is of interest" },
  experiment = true,
}

local function fail(message) iolua.leave(1, message) end

local function check_names(name, list, known)
  for _, each in ipairs(list) do
    local found = false
    for _, one in ipairs(known) do found = found or one == each end
    if not found then
      fail(("--%s %s: it is of %s"):format(name, each, table.concat(known, ", ")))
    end
  end
end

check_names("views", opt.views, VIEWS)
check_names("patterns", opt.patterns, NAMES)
for i, text in ipairs(opt.values) do
  local bytes, message = iolua.units.bytes(text)
  if not bytes then fail("--values: " .. message) end
  if i > 1 and bytes <= iolua.units.bytes(opt.values[i - 1]) then
    fail(("--values: %s is not more than %s: they rise"):format(text, opt.values[i - 1]))
  end
end

local PATIENCE_NS, clock = 50000000000, require("iolua.core").clock
local begin, asked = clock.now(), opt.replicates
opt.replicates = asked or 2

local wanted, lacks = {}, {}
for _, view in ipairs(opt.views) do wanted[view] = true end
local function lack(text, ...) lacks[#lacks + 1] = text:format(...) end

local function scratch_disks(kind)
  return iolua.scratch.disks { count = opt.disks, size = opt.size, kind = kind,
    bandwidth = kind == "loop" and opt.bandwidth or nil, folder = opt.folder }
end

-- Loop devices, whose values can be set; else files, on a disk that is as it is.
local scratch <close> = not opt.device and not opt.volume and (function()
  local d, message = scratch_disks("loop")
  if d then return d end
  lack("%s: without root no value can be set; files are read as found, and with the controls",
    message)
  d, message = scratch_disks("file")
  if not d then fail(message .. "; without scratch files name a --device") end
  return d
end)() or nil

local ctx = { opt = opt, layers = {}, names = {}, effective = {}, folder = opt.folder }
if scratch and scratch.kind == "file" then
  ctx.fixed, opt.fixed, opt.values, wanted = true, true, {}, { values = true }
end

local function add(name, layer)
  ctx.layers[name], ctx.names[#ctx.names + 1] = layer, name
end

local function add_layers()
  if ctx.fixed then
    local paths = {}
    for i = 1, #scratch do paths[i] = scratch[i]:path() end
    add("device", layers.device(paths[1], opt, "a scratch file on a disk of others"))
    return add("volume", layers.volume(paths, opt.chunk, opt))
  elseif scratch then
    add("device", layers.device(scratch[1], opt))
    return add("volume", layers.volume(scratch, opt.chunk, opt))
  end
  if opt.device then add("device", layers.device(opt.device, opt)) end
  if opt.volume then add("volume", layers.device(opt.volume, opt)) end
end

local ok, why = pcall(add_layers)
local made = ctx.layers.volume and ctx.layers.volume.volume
local _ <close> = setmetatable({}, { __close = function() if made then made:close() end end })
if not ok then fail((tostring(why):gsub("^%S+:%d+: ", ""))) end

-- The process bounded for a view, where --memory asks for it.
function ctx.bound()
  if not opt.memory then return nil end
  local bound, message = iolua.memory.bound(opt.memory)
  if not bound then fail(message) end
  return bound
end

local function once(name)
  lack("%s: one run of each case, as this machine is slow; --replicates asks for more", name)
end

-- A view's own experiment, in the same number of blocks.
function ctx.experiment(name, e)
  e.name, e.replicates, e.seed = "readahead-" .. name, opt.replicates, opt.seed
  if not asked and clock.now() - begin > PATIENCE_NS and e.replicates > 1 then
    e.replicates = 1
    once(name)
  end
  e.quiet, e.plan, e.run_time = opt.quiet, opt.plan, e.run_time or "300ms"
  e.save = opt.save and opt.save .. "-" .. name
  return iolua.experiment(e)
end

local told = {}                 -- view -> its text
local function view(name, lines, run, ...)
  if not wanted[name] or opt.resume then return end
  local result, more = run(...)
  if not result then return lack("%s: %s", name, tostring(more)) end
  if not opt.plan then told[name] = lines(ctx, result, more) end
end

-- Two runs of each case, or one where they would not end in a minute.
local function patience()
  if asked or opt.plan or opt.resume or opt.save or not wanted.values then return end
  local runs = 2 * #ctx.names * #opt.patterns * (#opt.values + 3)
  if values.pilot(ctx) * runs < PATIENCE_NS then return end
  opt.replicates = 1
  once("values")
end

patience()
local result = wanted.values and values.run(ctx)
local legs, thrash = require "readahead.legs", require "readahead.thrash"
local copies = require "readahead.copies"
view("legs", legs.lines, legs.run, ctx)
view("thrash", thrash.lines, thrash.run, ctx)
view("copies", copies.lines, function()
  if not scratch then return nil, "they write: only on scratch disks" end
  return copies.run(ctx)
end)

local to_stdout = opt.json == "-" or opt.csv == "-" or opt.html == "-"
if result and (opt.json or opt.csv or opt.html) then
  assert(result:report({ json = opt.json, csv = opt.csv, html = opt.html, quiet = true }, {}))
end
local nothing = result and not opt.plan and result:nothing()
if opt.quiet or opt.plan or to_stdout then
  if nothing then fail(nothing) end
  return
end

local function say(text, ...) print(text:format(...)) end

say("read-ahead: which value, on which layer, for which pattern, at what price?")
for _, name in ipairs(ctx.names) do
  local layer = ctx.layers[name]
  say(" %-8s%s; found at %d KiB = %d sectors", name, layer.text, layer.found, 2 * layer.found)
end
say(" Each run: value set, read back, opened, cache dropped (%s) and proved empty, %s read%s.",
  opt.drop, iolua.units.format_bytes(ctx.layers[ctx.names[1]].span),
  opt.memory and " in " .. iolua.units.format_bytes(opt.memory) .. " of memory" or "")

if result then
  local verdicts = require "readahead.verdicts"
  for _, name in ipairs(ctx.names) do
    say("\n%s: MB/s, and in brackets bytes the disks read for each byte asked", name)
    print(values.table(ctx, result, name))
    say("\n%s: the value to take", name)
    print(verdicts.lines(ctx, result, name))
  end
  say("\n advised: FADV_RANDOM at the largest value (faults do not heed it); direct: no cache")
end
for _, name in ipairs(VIEWS) do
  if told[name] then print("\n" .. told[name]) end
end

if scratch then
  lack("scratch disks share one real disk%s: a test of the method, no finding", scratch.throttled
    and " and are throttled to " .. opt.bandwidth .. " by slices of 0.1 s" or "")
end
local failed, void = 0, 0
if result then failed, void = result:lost() end
if failed + void > 0 then
  lack("%d runs failed, %d are void and count nothing:", failed, void)
  local shown = 0
  for _, row in ipairs(result.rows) do
    local reason = row.error or row.void
    if reason and shown < 4 then lack("  %s: %s", row.label, reason) end
    if reason then shown = shown + 1 end
  end
  if shown > 4 then lack("  and %d more: see the rows (--save)", shown - 4) end
end
print()
for _, text in ipairs(lacks) do say("lacks: %s", text) end
if nothing then fail(nothing) end
