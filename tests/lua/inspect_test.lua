--- iolua.volume.inspect: an md stripe, a logical volume and partitions in a tree of our own.
local t = require "check"
local iolua = require "iolua"

local root = t.run("mktemp -d"):match("%S+")

local function put(path, text)
  os.execute(("mkdir -p %s/%s"):format(root, path:match("^(.*)/")))
  local f = assert(io.open(root .. "/" .. path, "w"))
  f:write(text, "\n")
  f:close()
end

local function device(folder, number, sectors)
  put("sys/devices/" .. folder .. "/dev", number)
  put("sys/devices/" .. folder .. "/size", tostring(sectors))
  os.execute(("mkdir -p %s/sys/dev/block && ln -s ../../devices/%s %s/sys/dev/block/%s"):format(
    root, folder, root, number))
end

-- sda and sdb, a partition from sector 2048 on each; md0 over both; an LV on that, from 384 on.
for i, name in ipairs { "sda", "sdb" } do
  local minor = (i - 1) * 16
  device("block/" .. name, "8:" .. minor, 1000000)
  device(("block/%s/%s1"):format(name, name), "8:" .. minor + 1, 900000)
  put(("sys/devices/block/%s/%s1/partition"):format(name, name), "1")
  put(("sys/devices/block/%s/%s1/start"):format(name, name), "2048")
end
local function md(number, level, chunk)
  local name = "md" .. number
  device("virtual/block/" .. name, "9:" .. number, 1600000)
  local base = "sys/devices/virtual/block/" .. name .. "/md/"
  put(base .. "level", level)
  put(base .. "chunk_size", tostring(chunk))
  for slot, part in ipairs { "sda1", "sdb1" } do
    put(base .. "dev-" .. part .. "/slot", tostring(slot - 1))
    put(base .. "dev-" .. part .. "/offset", "1024")
    put(base .. "dev-" .. part .. "/size", "400000")
    put(base .. "dev-" .. part .. "/block/dev", "8:" .. (slot - 1) * 16 + 1)
  end
end
md(0, "raid0", 65536)
md(1, "raid5", 65536)
device("virtual/block/dm-0", "253:0", 500000)
put("sys/devices/virtual/block/dm-0/dm/name", "vg-lv")
put("sys/devices/virtual/block/dm-0/dm/uuid", "LVM-abc")

local function inspect(number)
  return assert(iolua.volume.inspect(number, { root = root, table_of = function()
    return { { start = 0, sectors = 500000, type = "linear", params = "9:0 384" } }
  end }))
end

t.case("an md stripe is its legs, chunk and disks", function()
  local v = inspect("9:0")
  t.equal(v.kind, "stripe")
  t.equal(v.level, "raid0")
  t.equal(v.chunk, 65536)
  t.equal(#v.legs, 2)
  t.equal(v.legs[2].offset, 1024 * 512)
  t.equal(v.legs[2].node.name, "sdb1")
  t.equal(v.legs[2].node.kind, "partition")
  local names = {}
  for i, disk in ipairs(v:disks()) do names[i] = disk.name end
  t.equal(table.concat(names, " "), "sda sdb")
end)

-- Sector 384 + 100 of the LV is in chunk 3 (484 // 128) of md0: row 1 of the second member,
-- 100 sectors into it: 1024 + 128 + 100 on sdb1, 2048 more on sdb.
t.case("a sector is followed down to its disk", function()
  local steps = inspect("253:0"):map(100)
  local text = {}
  for i, step in ipairs(steps) do text[i] = ("%s %d"):format(step.name, step.sector) end
  t.equal(table.concat(text, ", "), "dm-0 100, md0 484, sdb1 1252, sdb 3300")
end)

t.case("a logical volume says that it is one", function()
  local v = inspect("253:0")
  t.equal(v.lvm, true)
  t.equal(v.volume, "vg-lv")
  t.equal(v.kind, "concat")
end)

t.case("what is not mapped ends the way down", function()
  local v = inspect("9:1")
  t.equal(v.kind, "raid5")
  t.equal(#v:map(5), 1)
end)

t.case("without its table a volume still has what it lies on", function()
  os.execute(("mkdir -p %s/sys/devices/virtual/block/dm-0/slaves/md0"):format(root))
  local v = assert(iolua.volume.inspect("253:0", { root = root, table_of = function()
    return nil, "device-mapper needs root"
  end }))
  t.equal(v.kind, "dm")
  t.contains(tostring(v), "(device-mapper needs root)")
end)

t.case("printed, it is a tree", function()
  local text = tostring(inspect("253:0"))
  t.contains(text, "/dev/dm-0: concat, 244 MiB")
  t.contains(text, "\n  1 from sector 384: /dev/md0: raid0, 781 MiB, chunk 64 KiB")
  t.contains(text, "\n    2 from sector 1024: /dev/sdb1: partition, 439 MiB")
  t.contains(text, "\n      1 from sector 2048: /dev/sdb: disk, 488 MiB")
end)

t.case("what is no device is told", function()
  local v, message = iolua.volume.inspect("/proc")
  t.equal(v, nil)
  t.contains(message, "inspect: /proc")
end)

os.execute("rm -r " .. root)
t.done()
