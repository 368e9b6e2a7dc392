--- E3's second half: n copies of bonnie's tests in step, each on a volume of its own, with a
--- small and a large read-ahead.
local iolua = require "iolua"
local mount = require "iolua.scratch.mount"
local values = require "readahead.values"

local copies = {}

local SECTORS = { 1024, 8192 }
local SIZE, DISK = 8 << 20, 24 << 20
local MIN_SECONDS = 0.02        -- a shorter test has no rate

-- Shown as a rate: bonnie's test, unit, bytes or operations a second.
local TESTS = {
  { "block_write", "MB/s" }, { "block_read", "MB/s" }, { "seeks", "/s" },
  { "seq_create", "/s" }, { "seq_delete", "/s" }, { "ran_create", "/s" }, { "ran_delete", "/s" },
}

local function close_all(list)
  return setmetatable(list, { __close = function(self)
    for i = #self, 1, -1 do self[i]:close() end
  end })
end

-- A volume for each copy: of the kernel where there is device-mapper, else the disk itself.
local function volumes_over(disks, owned)
  local paths, kernel = {}, iolua.dm.available()
  for i = 1, #disks do
    paths[i] = disks[i]
    if kernel then
      local v, message = iolua.volume.linear { device = disks[i] }
      if not v then return nil, message end
      owned[#owned + 1], paths[i] = v, v.path
    end
  end
  return paths, kernel
end

local function mounts_on(paths, owned)
  local folders = {}
  for i, path in ipairs(paths) do
    local m, message = mount.new(path)
    if not m then return nil, message end
    owned[#owned + 1], folders[i] = m, m.folder
  end
  return folders
end

-- Sums over the copies; nil when one was too short to say.
local function summed(r)
  local v = {}
  for _, test in ipairs(TESTS) do
    local sum = 0
    for _, copy in ipairs(r.copies) do
      local e = copy[test[1]]
      local rate = e and (e.bytes_per_s and e.bytes_per_s / 1e6 or e.per_s)
      sum = sum and rate and sum + rate
    end
    v[test[1]] = sum or nil
  end
  return v
end

local function read_so_far(disks)
  local sum = 0
  for i = 1, #disks do
    local dev = assert(require("iolua.core").blk.find(disks[i])).disk_dev
    local f <close> = assert(io.open(("/sys/dev/block/%s/stat"):format(dev)))
    local words = {}
    for word in f:read("a"):gmatch("%d+") do words[#words + 1] = tonumber(word) end
    sum = sum + 512 * words[3]
  end
  return sum
end

local function bonnie(ctx, folders, seed)
  local n = #folders
  local r, message = iolua.workload.bonnie { dir = function(i) return folders[i] end,
    size = SIZE, seeks = 100, files = { count = ctx.opt.files }, copies = n, together = true,
    uncached = true, min_seconds = MIN_SECONDS, seed = seed }
  if not r then return nil, message end
  return n > 1 and r or { copies = { r } }
end

local function measure_with(ctx, setup)
  return function(_, kib, run)
    local before = read_so_far(setup.disks)
    local r, message = bonnie(ctx, setup.folders, run.seed & 0xffffffff)
    if not r then return nil, message end
    local v = summed(r)
    v.disk_read_MB = (read_so_far(setup.disks) - before) / 1e6
    for _, path in ipairs(setup.paths) do
      v.unchanged = v.unchanged ~= false and iolua.settings.get(path).read_ahead_kb == kib.kib
    end
    return v
  end
end

local function set_all(paths)
  return function(case)
    local taken
    for _, path in ipairs(paths) do
      local values_, message = iolua.settings.set(path, { read_ahead_sectors = case.sectors })
      if not values_ then return nil, message end
      taken = values_.read_ahead_kb
    end
    return { kib = taken }
  end
end

local function unchanged(row)
  return row.values.unchanged == false and "the read-ahead was changed meanwhile" or nil
end

--- Run it: { result, kernel }, or nil and what is missing.
function copies.run(ctx)
  local n = ctx.opt.copies
  local disks <close>, message = iolua.scratch.disks { count = n, size = DISK, kind = "loop",
    bandwidth = ctx.opt.bandwidth, folder = ctx.folder, fill = false }
  if not disks then return nil, message end
  local owned <close> = close_all {}
  local paths, kernel = volumes_over(disks, owned)
  if not paths then return nil, kernel end
  local folders, why = mounts_on(paths, owned)
  if not folders then return nil, why end
  local metrics = { "disk_read_MB" }
  for i, test in ipairs(TESTS) do metrics[i + 1] = test[1] end
  local setup = { disks = disks, paths = paths, folders = folders }
  local result = ctx.experiment("copies", { factors = { sectors = SECTORS }, metrics = metrics,
    gates = { unchanged }, duplicate = false, run_time = "4s",
    setup = set_all(paths), measure = measure_with(ctx, setup) })
  return { result = result, kernel = kernel }
end

local function verdict_of(ctx, result, metric)
  for _, sectors in ipairs(SECTORS) do
    if not values.mean(result, { sectors = sectors }, metric) then return "too short to say" end
  end
  local ok, c = pcall(result.compare, result, { factor = "sectors", metric = metric,
    baseline = SECTORS[1], smallest = ctx.opt.smallest, labels = true })
  if not ok or not c.arms[1] then return "cannot tell" end
  local arm = c.arms[1]
  if arm.verdict == "cannot tell" then
    return arm.could_have_seen_percent and ("cannot tell (%.0f %% would have been seen)"):format(
      arm.could_have_seen_percent) or "cannot tell"
  end
  if arm.verdict ~= "faster" and arm.verdict ~= "slower" then return arm.verdict end
  return ("%d is %s by %.0f %%"):format(SECTORS[2], arm.verdict, math.abs(arm.percent or 0))
end

--- What is to be shown of it.
function copies.lines(ctx, told)
  local opt, result = ctx.opt, told.result
  local lines = { ("%d cop%s of bonnie's tests in step, each on %s of its own"):format(opt.copies,
    opt.copies == 1 and "y" or "ies", told.kernel and "a kernel's volume" or "a scratch disk"),
    ("%-13s%8s%14d%14d"):format("sectors", "", SECTORS[1], SECTORS[2]),
    ("%-13s%8s%14d%14d"):format("  in KiB", "", SECTORS[1] // 2, SECTORS[2] // 2) }
  local tests = table.move(TESTS, 1, #TESTS, 2, { { "disk_read_MB", "MB" } })
  for _, test in ipairs(tests) do
    local cells = {}
    for i, sectors in ipairs(SECTORS) do
      cells[i] = values.number(values.mean(result, { sectors = sectors }, test[1]))
    end
    lines[#lines + 1] = ("%-13s%8s%14s%14s  %s"):format((test[1]:gsub("_MB", "")), test[2],
      cells[1], cells[2], test[1] == "disk_read_MB" and "what the disks read in all"
        or verdict_of(ctx, result, test[1]))
  end
  return table.concat(lines, "\n")
end

return copies
