-- The guard over volumes that this kernel really has: LVM, md and LUKS, made by their own tools,
-- stopped and running, and a filesystem mounted on top.
-- when: short
-- timeout: 180
local guest = require "vm.guest"
local t = require "check"
local iolua = require "iolua"

local run = guest.run

local TOOLS = os.getenv("VM_CACHE")
local LVM = TOOLS .. "/lvm2/sbin/lvm "
local MDADM = TOOLS .. "/mdadm/sbin/mdadm "
local CRYPT = TOOLS .. "/cryptsetup-bin/sbin/cryptsetup "

local function need(program)
  local path = program:match("%S+")
  local _, missing = t.run(path .. " --version || " .. path .. " version")
  if missing ~= 0 then t.skip(path .. " does not run here") end
end

run("modprobe loop max_loop=8; modprobe dm-mod; modprobe ext4")

-- A loop device over a fresh file.
local function disk(name)
  run(("truncate -s 48M /tmp/%s"):format(name))
  return run(("losetup -f --show /tmp/%s"):format(name))
end

local function sum(device)
  return run("cksum < " .. device)
end

-- Opening for writing is refused with such a reason, and changes nothing.
local function refused(device, options, reason)
  options.write = true
  local before = sum(device)
  local f, message, errno = iolua.open(device, options)
  t.equal(f, nil, "open for writing")
  t.contains(message, reason)
  t.equal(sum(device), before)
  return errno
end

local function allowed(device, options)
  options.write = true
  local f <close> = assert(iolua.open(device, options))
  t.equal(f:path(), device)
end

t.case("LVM: a member is protected, by signature and by its volume", function()
  need(LVM)
  local member, other = disk("pv"), disk("other")
  local config = " --config 'devices { dir=\"/dev\" scan=\"/dev\" use_devicesfile=0 "
    .. "obtain_device_list_from_udev=0 external_device_info_source=\"none\" } "
    .. "activation { udev_sync=0 udev_rules=0 verify_udev_operations=1 monitoring=0 }' "
  run(LVM .. "pvcreate -qq" .. config .. member)
  t.equal(refused(member, {}, "holds LVM2_member"), 17)
  refused(member, { destroy = other }, "names another device")
  allowed(member, { destroy = member })
  run(LVM .. "vgcreate -qq" .. config .. "vg " .. member)
  run(LVM .. "lvcreate -qq -y -Zn -Wn -n lv -L 16M" .. config .. "vg")
  t.equal(refused(member, { destroy = member }, "in use: dm-0 (vg-lv) lies on it"), 16)
  allowed("/dev/dm-0", {})
  run("mkfs.ext4 -q /dev/dm-0 && mkdir -p /tmp/home && mount /dev/dm-0 /tmp/home -o ro")
  refused("/dev/dm-0", { destroy = "/dev/dm-0" }, "in use: mounted on /tmp/home")
  refused(member, { destroy = member }, "in use: dm-0 on it is mounted on /tmp/home")
  run("umount /tmp/home")
  refused("/dev/dm-0", {}, "holds ext4 filesystem")
  run(LVM .. "vgchange -qq -an" .. config .. "vg")
  refused(member, {}, "holds LVM2_member")
end)

t.case("md: a member is protected, stopped and running", function()
  need(MDADM)
  run("modprobe raid1")
  local a, b = disk("md-a"), disk("md-b")
  run(MDADM .. "--create /dev/md9 --run --assume-clean --metadata=1.2 --level=1 "
    .. "--raid-devices=2 " .. a .. " " .. b)
  refused(a, { destroy = a }, "in use: md9 lies on it")
  run(MDADM .. "--stop /dev/md9")
  refused(b, {}, "holds linux_raid_member")
  allowed(b, { destroy = b })
end)

t.case("LUKS: a container is protected, closed and open", function()
  need(CRYPT)
  run("modprobe dm-crypt")
  local device = disk("luks")
  run("echo secret | " .. CRYPT .. "luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "
    .. "--sector-size 512 --disable-locks " .. device)
  refused(device, {}, "holds crypto_LUKS")
  run("echo secret | " .. CRYPT .. "open --disable-locks " .. device .. " hidden")
  t.equal(refused(device, { destroy = device }, "(hidden) lies on it"), 16)
  run(CRYPT .. "close --disable-locks hidden")
  allowed(device, { destroy = device })
end)

t.done()
