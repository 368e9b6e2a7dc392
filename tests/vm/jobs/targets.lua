-- Every target of the guest's kernel that we have a builder for, made, looked at, removed; and
-- what device-mapper must refuse.
-- timeout: 180
local t = require "check"
local iolua = require "iolua"
local dm = iolua.dm

assert(os.execute("modprobe dm-mod && modprobe loop max_loop=16"))
local MB = 1 << 20

-- Loop devices over files of the guest's memory, 16 MiB each.
local disks = {}
for i = 1, 8 do
  local file = "/tmp/disk" .. i
  assert(os.execute(("truncate -s %d %s"):format(16 * MB, file)))
  disks[i] = t.run("losetup -f --show " .. file):match("%S+")
end
local a, b, c, d, e, f, g, h = table.unpack(disks)

local function blank(...)
  for _, disk in ipairs { ... } do
    local zero = ("dd if=/dev/zero of=%s bs=1M count=16 conv=fsync 2>/dev/null"):format(disk)
    assert(os.execute(zero))
  end
end

local function make(kind, options, name)
  return assert(dm.create { name = name, table = { assert(dm.line(kind, options)) } })
end

-- Readable to the last sector.
local function read_all(v)
  local file <close> = assert(iolua.open(v.path))
  local buf <close> = iolua.buffer(4096)
  local size = file:size()
  t.equal(size, v:size())
  t.equal(file:read(buf, 0), 4096)
  t.equal(file:read(buf, size - 4096), 4096)
end

t.case("device-mapper is available, with its targets' versions", function()
  t.equal(dm.available(), true)
  t.ok(dm.targets().linear:find("^%d+%.%d+%.%d+$"))
end)

local PLAIN = {
  { "linear", { device = a, offset = "1m" }, 15 * MB },
  { "striped", { members = { a, b, c }, chunk = "16k" }, 48 * MB // 49152 * 49152 },
  { "striped", { members = { a, b }, chunk = 512 * 7 }, 32767 // 7 * 7 * 512 * 2 },
  { "zero", { size = "4m" }, 4 * MB },
  { "delay", { device = a, delay_ms = 0 }, 16 * MB },
  { "flakey", { device = a, up_s = 60, down_s = 0 }, 16 * MB },
  { "raid", { level = "raid0", members = { a, b }, chunk = "64k" }, 32 * MB },
  { "raid", { level = "raid1", members = { a, b }, sync = false }, 16 * MB },
  { "raid", { level = "raid4", members = { a, b, c }, chunk = "64k", sync = false }, 32 * MB },
  { "raid", { level = "raid5_ls", members = { a, b, c }, chunk = "64k", sync = false }, 32 * MB },
  { "raid", { level = "raid6_zr", members = { a, b, c, d, e }, chunk = "64k" }, 48 * MB },
  -- Linux 6.1 takes raid10 with metadata devices only.
  { "raid", { level = "raid10", members = { a, b, c, d }, chunk = "64k",
    metadata = { e, f, g, h } }, 32 * MB },
  { "snapshot-origin", { origin = a }, 16 * MB },
  { "writecache", { origin = a, cache = b, block_bytes = 4096 }, 16 * MB },
  { "log-writes", { device = a, log = b }, 16 * MB },
}

for _, case in ipairs(PLAIN) do
  local kind, options, size = table.unpack(case)
  t.case(("%s %s is made, read, and removed"):format(kind, options.level or ""), function()
    blank(a, b)
    do
      local v <close> = make(kind, options)
      t.equal(v:size(), size)
      read_all(v)
      t.equal(v:table()[1].type, kind)
      t.equal(v:status()[1].sectors * 512, size)
      t.equal(v:info().suspended, false)
    end
    t.equal(#dm.list(), 0)
  end)
end

t.case("raid with metadata devices has a bitmap", function()
  blank(a, b, c, d)
  local v <close> = make("raid", { level = "raid1", members = { a, b }, metadata = { c, d },
    region_size = "64k", sync = false })
  t.equal(#v.notes, 0)
  t.contains(v:table()[1].params, "region_size 128")
end)

t.case("a raid is waited for until it is in sync", function()
  blank(a, b, c)
  local v <close> = make("raid", { level = "raid5_ls", members = { a, b, c }, chunk = "64k",
    sync = true })
  t.equal(v:wait_sync("60s"), true)
  t.contains(v:status()[1].params, "raid5_ls 3 AAA 32768/32768 idle")
  local zero <close> = make("zero", { size = "1m" })
  local ok, message = zero:wait_sync()
  t.equal(ok, nil)
  t.contains(message, "it is no raid")
end)

t.case("error refuses every read", function()
  local v <close> = make("error", { size = "1m" })
  local file <close> = assert(iolua.open(v.path))
  local buf <close> = iolua.buffer(4096)
  local n, message, errno = file:read(buf, 0)
  t.equal(n, nil)
  t.contains(message, "Input/output error")
  t.equal(errno, 5)
end)

t.case("a snapshot keeps what its origin loses", function()
  blank(a, b)
  local _ <close> = make("snapshot-origin", { origin = a }, "origin")
  local snap <close> = make("snapshot", { origin = a, cow = b, persistent = "N" }, "snap")
  assert(os.execute("dd if=/dev/urandom of=/dev/mapper/origin bs=4k count=1 conv=fsync status=none"))
  t.equal((t.run("cmp -n 4096 /dev/mapper/snap /dev/zero && echo same")):find("same") ~= nil, true)
  t.contains(snap:status()[1].params, "/")
end)

t.case("a thin volume takes its blocks from its pool", function()
  blank(a, b)
  local pool <close> = make("thin-pool", { metadata = a, data = b, block = "64k" }, "pool")
  assert(pool:message("create_thin 0"))
  local _ <close> = make("thin", { pool = pool, id = 0, size = "64m" }, "thin")
  assert(os.execute("dd if=/dev/urandom of=/dev/mapper/thin bs=64k count=3 conv=fsync status=none"))
  t.contains(pool:status()[1].params, " 3/256 ")
end)

t.case("a cache counts its hits", function()
  blank(a, b, c)
  local v <close> = make("cache", { metadata = a, cache = b, origin = c, block = "64k",
    features = { "writethrough" } })
  read_all(v)
  t.contains(v:status()[1].params, "writethrough")
end)

t.case("other targets go by their own line", function()
  local v <close> = assert(dm.create { name = "own", table = "0 2048 linear " .. a .. " 0\n" ..
    "2048 2048 zero" })
  t.equal(#v:table(), 2)
  t.equal(v:size(), 4096 * 512)
end)

t.case("a name with a space is itself to the user and escaped in /dev/mapper", function()
  local v <close> = make("zero", { size = "1m" }, "vol 1")
  t.equal(v.path, "/dev/mapper/vol\\x201")
  t.equal(dm.list()[1].name, "vol 1")
  t.equal(t.run("ls /dev/mapper"):find("vol\\x201", 1, true) ~= nil, true)
  assert(v:rename("vol\\x202"))
  t.equal(dm.list()[1].name, "vol\\x202")
  local same, message = dm.create { name = "vol\\x202", table = { "0 8 zero" } }
  t.equal(same, nil)
  t.contains(message, "a volume of this name exists")
end)

t.case("an open volume is not removed, and says who holds it", function()
  local v <close> = make("zero", { size = "1m" }, "held")
  do
    local file <close> = assert(iolua.open(v.path))
    local ok, message, errno = v:remove()
    t.equal(ok, nil)
    t.equal(errno, 16)
    t.contains(message, "remove held: in use: open count 1, held by iolua (process ")
    local buf <close> = iolua.buffer(4096)
    t.equal(file:read(buf, 0), 4096)
  end
  t.equal(v:remove(), true)
  local ok, message, errno = v:remove()
  t.equal(ok, nil)
  t.equal(message, "remove held: no such volume")
  t.equal(errno, 6)
end)

t.case("a deferred removal waits for the last user", function()
  local v <close> = make("zero", { size = "1m" }, "later")
  do
    local _ <close> = assert(iolua.open(v.path))
    t.equal(v:remove { deferred = true }, true)
    t.equal(#dm.list(), 1)
  end
  for _ = 1, 100 do             -- a worker of the kernel's does it
    if #dm.list() == 0 then break end
    iolua.sleep("10ms")
  end
  t.equal(#dm.list(), 0)
end)

t.case("a suspended volume is closed all the same", function()
  local v <close> = make("linear", { device = a })
  assert(v:suspend())
  t.equal(v:info().suspended, true)
end)

t.case("another table is swapped in, or the old one stays", function()
  local v <close> = make("zero", { size = "1m" }, "swap")
  assert(v:reload { "0 4096 linear " .. a .. " 0" })
  t.equal(v:table()[1].type, "linear")
  local ok, message = v:reload { "0 4096 nonsense" }
  t.equal(ok, nil)
  t.contains(message, "load swap: ")
  t.equal(v:info().suspended, false)
  t.equal(v:table()[1].type, "linear")
end)

t.case("the kernel's reason is part of the message, and nothing is left", function()
  local v, message = dm.create { name = "bad",
    table = { "0 4096 crypt aes-nonsense 00 0 " .. a .. " 0" } }
  t.equal(v, nil)
  t.contains(message, "load bad: ")
  t.equal(#dm.list(), 0)
end)

t.case("every device of a table passes the guard", function()
  assert(os.execute(("mkfs.ext4 -q -F %s && mkdir -p /tmp/mounted && mount %s /tmp/mounted")
    :format(f, f)))
  local v, message = dm.create { table = { "0 2048 linear " .. f .. " 0" } }
  t.equal(v, nil)
  t.contains(message, "mounted on /tmp/mounted")
  assert(os.execute("umount /tmp/mounted"))
  v, message = dm.create { table = { "0 2048 linear " .. f .. " 0" } }
  t.equal(v, nil)
  t.contains(message, "ext4")
  v = assert(dm.create { table = { "0 2048 linear " .. f .. " 0" }, destroy = f })
  t.equal(v:close(), true)
  t.equal(#dm.list(), 0)
end)

-- The kernel also takes a bare hexadecimal number: 700 is 7:0, the first loop device.
t.case("a device that the table names in the kernel's own way does not get round the guard",
  function()
    local core = require "iolua.core"
    local function create(params)
      return core.dm.create { name = "hidden", uuid = core.dm.prefix() .. "hidden",
        lines = { { start = 0, sectors = 2048, type = "linear", params = params } } }
    end
    local ok, message, errno = create("700 0")
    t.equal(ok, nil)
    t.equal(errno, 1)
    t.contains(message, "the table leads to device 7:0, which it does not name")
    t.equal(#dm.list(), 0)
    t.equal((create("7:0 0")), true)
    assert(core.dm.remove("hidden"))
    local foreign
    ok, foreign = core.dm.create { name = "hidden", uuid = "LVM-hidden",
      lines = { { start = 0, sectors = 8, type = "zero", params = "" } } }
    t.equal(ok, nil)
    t.contains(foreign, "the UUID is not of this run")
  end)

t.case("a member of somebody else's volume is refused, of our own it is not", function()
  blank(a)
  assert(os.execute("echo '0 2048 linear " .. a .. " 0' | dmsetup create theirs"))
  local v, message = dm.create { table = { "0 2048 linear " .. a .. " 2048" } }
  t.equal(v, nil)
  t.contains(message, "theirs")
  assert(os.execute("dmsetup remove theirs"))
  local one <close> = make("linear", { device = a, size = "1m" })
  local two <close> = make("linear", { device = a, offset = "1m", size = "1m" })
  t.equal(#dm.list(), 2)
  t.equal(two:deps()[1], one:deps()[1])
end)

t.case("dm-stats count what a job did", function()
  local v <close> = make("striped", { members = { a, b }, chunk = "16k" })
  local stats <close> = assert(v:stats { bounds = { "1ms", "10s" } })
  local file <close> = assert(iolua.open(v.path, { direct = true }))
  local r = assert(iolua.job { target = file, rw = "randread", bs = "4k", number_ios = 200 })
  local n = assert(stats:read())
  t.equal(r.read.ios, 200)
  t.equal(n.reads, 200)
  t.equal(n.sectors_read, 1600)
  t.equal(n.histogram[1] + n.histogram[2] + n.histogram[3], 200)
end)

t.done()
