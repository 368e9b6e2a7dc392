-- kill -9 while everything that can be set is set: queue, interrupt, cgroup, huge and dirty
-- pages. The next start puts all of it back.
-- when: short
-- timeout: 360
-- qemu: -blockdev driver=null-co,node-name=f0,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,num-queues=2,vectors=2
local guest = require "vm.guest"
local t = require "check"

local run = guest.run

local KILLS = os.getenv("VM_LONG") ~= "" and 1000 or 20
local IOLUA = os.getenv("IOLUA")

run("modprobe virtio_blk; modprobe mq-deadline; modprobe bfq; modprobe kyber-iosched; :")
run("echo +io > /sys/fs/cgroup/cgroup.subtree_control; mkdir -p /sys/fs/cgroup/slow")
run("cd /sys/block/vda/queue && echo none > scheduler && echo 1 > rq_affinity"
  .. " && echo 2560 > read_ahead_kb")
local VECTOR = run("sed -n 's/^ *\\([0-9]*\\):.*-virtqueues$/\\1/p' /proc/interrupts")

-- Everything that the script below touches or may touch, as one text.
local function state()
  return run("cd /sys/block/vda/queue && grep -s . $(ls -p . | grep -v /) iosched/* | sort; "
    .. "cat /sys/fs/cgroup/slow/io.max /sys/kernel/mm/transparent_hugepage/enabled "
    .. "/proc/irq/" .. VECTOR .. "/smp_affinity_list; grep . /proc/sys/vm/dirty*")
end

local SCRIPT = [[
local settings = require("iolua").settings
io.write(io.open("/proc/self/stat"):read("n"), "\n")
io.stdout:flush()
local names = { "none", "mq-deadline", "kyber", "bfq" }
for i = 1, 100000 do
  assert(settings.set("/dev/vda", { read_ahead_kb = 4 * i, rq_affinity = i % 3,
    nomerges = i % 3, max_sectors_kb = 512 + i % 100, scheduler = names[i % 4 + 1],
    nr_requests = 16 + i % 16, iostats = i % 2, write_cache = "write through",
    io_max = { cgroup = "/sys/fs/cgroup/slow", rbps = 1000000 + i } }))
  assert(settings.set { transparent_hugepage = i % 2 == 0 and "never" or "always",
    dirty_bytes = 100000000 + i * 4096, dirty_background_ratio = 5, cpu_latency_us = 1 })
  assert(settings.irq("/dev/vda", { cpus = i % 4 }))
  if i % 3 == 0 then settings.restore() end
  if arg[1] then break end
end]]
local f = assert(io.open("/tmp/script.lua", "w"))
f:write(SCRIPT)
f:close()

local before = state()

t.case("a volume's own queue is set, its legs' when asked; restoring leaves the volume", function()
  local iolua = require "iolua"
  local function read_ahead(name)
    return run(("cat /sys/block/%s/queue/read_ahead_kb"):format(name))
  end
  run("modprobe dm-mod")
  local v <close> = assert(iolua.dm.create { table = { "0 2048 linear /dev/vda 0" } })
  local name = require("iolua.core").blk.find(v.path).name
  local found = read_ahead(name)
  assert(iolua.settings.set(v, { read_ahead_kb = 1024 }))
  t.equal(read_ahead(name), "1024")
  t.equal(read_ahead("vda"), "2560")
  assert(iolua.settings.set(v, { read_ahead_kb = 512 }, { legs = true }))
  t.equal(read_ahead(name), "512")
  t.equal(read_ahead("vda"), "512")
  t.same(iolua.settings.restore().problems, {})
  t.equal(read_ahead(name), found)
  t.equal(read_ahead("vda"), "2560")
  v:close()
end)

t.case("everything is set and comes back at the end", function()
  run(IOLUA .. " /tmp/script.lua once")
  t.equal(state(), before)
end)

t.case(("kill -9 at %d random moments"):format(KILLS), function()
  math.randomseed(11)
  local changed = 0
  for _ = 1, KILLS do
    local pipe = io.popen("exec " .. IOLUA .. " /tmp/script.lua")
    local pid = pipe:read("n")
    run(("sleep %.3f; kill -KILL %d"):format(math.random() * 0.7, pid))
    pipe:close()
    if changed < 5 and state() ~= before then changed = changed + 1 end     -- slow
    run(IOLUA .. " -e 'local x = 1'")
    t.equal(state(), before)
  end
  t.ok(changed > 0, "some kill left a change behind")
end)

t.done()
