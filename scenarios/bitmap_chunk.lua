-- Question: what does the chunk of a write-intent bitmap cost a RAID 5, small against large?
-- Needs:    root and the kernel's device-mapper with raid (it says so where that is missing); scratch
--           members, or --members and --metadata with --destroy.   Takes: under two minutes.
-- Shows:    a row a region size: rates of random and sequential writes, and of dbench, bonnie++ and
--           tiotest on a filesystem (those present; ours where they are not), and beside each how
--           often the bitmap was written, by the metadata devices' own counters; then verdicts.
local iolua = require "iolua"
local counter = require "iolua.run.device"
local loads = require "bitmap.loads"

local opt = iolua.options {
  "What does the chunk of a write-intent bitmap cost a RAID 5, small against large?",
  regions = { type = "string", list = true, help = "default: 2m,64m; 64k shows the count best" },
  members = { type = "path", list = true, help = "three or more; default: scratch disks" },
  metadata = { type = "path", list = true, help = "one for each member, of 4 MiB and more" },
  destroy = { type = "boolean", default = false, help = "the data of those devices may be lost" },
  writes = { type = "integer", default = 300, min = 1, help = "random 4 KiB writes a run" },
  sequential = { type = "size", default = "16m", help = "bytes written in order a run" },
  loads = { type = "string", list = true,
    help = "of dbench,bonnie,tiotest, on an ext4 of the volume (default: all that are to be had)" },
  seconds = { type = "integer", default = 2, min = 1, help = "dbench runs, after its warm-up" },
  clients = { type = "integer", default = 2, min = 1, help = "of dbench; threads of tiotest" },
  data = { type = "size", default = "40m", min = 1 << 20,
    help = "bytes of bonnie's file, and of all of tiotest's" },
  replicates = { type = "integer", default = 2, min = 1, help = "runs of each region size" },
  size = { type = "size", default = "36m", help = "of a scratch member" },
  folder = { type = "path", help = "of the scratch members' files" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  experiment = true,
}

local SCRATCH_MEMBERS = 3
local BITMAP = 4096             -- where the bitmap begins on a metadata device, and its header's
local HEADER = 256              -- length

local function fail(message) iolua.leave(1, message) end

local regions = opt.regions or { "2m", "64m" }

-- What this machine lacks is told, and that is all.
local available, why = iolua.dm.available()
if not available then
  print("bitmap chunk: nothing to measure here: " .. tostring(why))
  return
end

local disks
local members, metadata = opt.members or {}, opt.metadata or {}
if not opt.members and not opt.plan then
  local message
  disks, message = iolua.scratch.disks { count = 2 * SCRATCH_MEMBERS, size = opt.size,
    kind = "loop", fill = false, folder = opt.folder }
  if not disks then fail(message) end
  for i = 1, SCRATCH_MEMBERS do members[i], metadata[i] = disks[2 * i - 1], disks[2 * i] end
elseif opt.members and not opt.destroy then
  fail("the data of members and metadata is lost: say --destroy")
end
local _ <close> = setmetatable({}, { __close = function()
  if disks then disks:close() end
end })
if #members ~= #metadata then fail("one metadata device for each member") end

local function all_devices()
  return table.move(metadata, 1, #metadata, #members + 1, { table.unpack(members) })
end

-- No bitmap of the run before.
local function wipe(path)
  local f <close> = assert(iolua.open(path, { write = true, destroy = path }))
  local buf <close> = iolua.buffer(1 << 20)
  buf:fill { byte = 0 }
  for i = 0, 3 do assert(f:write(buf, i << 20)) end
  assert(f:fsync())
end

-- Is a bit of a region set on disk? Behind the last region they mean nothing.
local function dirty(page)
  local sectors, _, chunk = string.unpack("<I8I4I4", page, 41)
  local bits = (sectors * 512 + chunk - 1) // chunk
  local whole, rest = bits // 8, bits % 8
  if page:sub(HEADER + 1, HEADER + whole):find("[^\0]") then return true end
  return rest > 0 and page:byte(HEADER + whole + 1) & (1 << rest) - 1 ~= 0
end

-- Bits of the bitmap on disk are set until its daemon has cleared them, twice its pause after
-- the members are in sync: only then does a write set one again.
local function wait_clean(volume)
  assert(volume.dm:wait_sync("60s"))
  local f <close> = assert(iolua.open(metadata[1], { direct = true }))
  local buf <close> = iolua.buffer(4096)
  for _ = 1, 300 do
    assert(f:read(buf, BITMAP))
    if not dirty(buf:string()) then return true end
    iolua.sleep("100ms")
  end
  return nil, "the bitmap was not clean after 30 s"
end

-- Writes of the bitmap: the most that a metadata device saw.
local function bitmap_writes(before)
  local most = 0
  for _, b in ipairs(before) do most = math.max(most, counter.since(b).writes) end
  return most
end

local function count()
  local before = {}
  for i, path in ipairs(metadata) do before[i] = assert(counter.before(path)) end
  return before
end

local function setup(case)
  for _, path in ipairs(metadata) do wipe(path) end
  -- The kernel takes this pause in ticks: 500 is 0.5 to 2 s.
  local v = assert(iolua.volume.raid { level = "raid5_ls", members = members, metadata = metadata,
    chunk = "64k", region_size = case.region, daemon_sleep = "500ms", write = true, direct = true,
    destroy = all_devices() })
  return v
end

local chosen, missing = loads.choose(opt.loads)
if not chosen then fail(missing) end

local function measure(_, v, run)
  local clean, message = wait_clean(v)
  if not clean then return nil, message end
  local before = count()
  local r, because = iolua.job { target = v, rw = "randwrite", bs = "4k", iodepth = 1,
    number_ios = opt.writes, seed = run.seed }
  if not r then return nil, because end
  local random = bitmap_writes(before)
  local s, reason = iolua.job { target = v, rw = "write", bs = "64k", iodepth = 4,
    size = math.min(opt.sequential, v:size()) // 65536 * 65536 }
  if not s then return nil, reason end
  local values = { random_iops = r.write.iops, random_us = r.write.lat:mean() / 1e3,
    bitmap_writes = random, sequential_MB_per_s = s.write.bytes_per_s / 1e6 }
  local ok, failed = loads.measure(chosen, v, values, opt, function()
    local from = count()
    return function() return bitmap_writes(from) end
  end)
  if not ok then return nil, failed end
  return values, iolua.experiment.evidence(r)
end

local metrics = { "bitmap_writes", "random_iops", "random_us", "sequential_MB_per_s" }
for _, load in ipairs(chosen) do
  table.insert(metrics, load.name .. "_bitmap")
  table.insert(metrics, load.name .. "_MB_per_s")
  if load.note and not opt.quiet then print(("%s: %s"):format(load.name, load.note)) end
end
for _, sentence in ipairs(missing) do print(sentence) end

local result = iolua.experiment {
  name = "bitmap-chunk", question = "What does the bitmap's chunk cost?", options = opt,
  factors = { region = regions }, replicates = opt.replicates, seed = opt.seed, duplicate = false,
  metrics = metrics, gates = false,
  writes = disks and "scratch disks, made and removed" or all_devices(),
  setup = setup, measure = measure,
}
if opt.plan then return end
assert(result:report(opt, {}))
for _, metric in ipairs(metrics) do
  if not metric:find("bitmap") and metric ~= "random_us" then
    local ok, c = pcall(result.compare, result, { factor = "region", metric = metric })
    print(ok and c.sentence or tostring(c))
  end
end
if result:nothing() then fail(result:nothing()) end
