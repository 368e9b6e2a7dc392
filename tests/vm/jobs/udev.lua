-- Volumes where an udevd makes the nodes: waited for, and gone on without when it does not answer.
-- timeout: 180
local t = require "check"
local dm = require("iolua").dm

local CACHE = os.getenv("VM_CACHE")

if t.run("ls " .. CACHE .. "/udev/bin/udevadm"):find("No such") then
  print("skipped udev: no package of it in the cache")
  print("0 passed, 0 failed, 1 skipped")
  os.exit(0)
end

-- This process was started without one in mind: libdevmapper looks once.
if os.getenv("DM_DISABLE_UDEV") then
  assert(os.execute("modprobe dm-mod"))
  for _, package in ipairs { "udev", "libsystemd-shared" } do
    assert(os.execute(("tar -C %s/%s -c . | tar -C / -x --keep-directory-symlink"):format(CACHE,
      package)))
  end
  assert(os.execute("/lib/systemd/systemd-udevd --daemon && udevadm settle"))
  local ok, _, code = os.execute("env -u DM_DISABLE_UDEV $IOLUA " .. os.getenv("VM_JOB"))
  os.exit(ok and 0 or code)
end

local function semaphores()
  return select(2, t.run("ipcs -s"):gsub("0x%x+%s+%d", ""))
end

local function seconds(fn, ...)
  local begin = os.time()
  local result = table.pack(fn(...))
  return os.time() - begin, table.unpack(result, 1, result.n)
end

t.case("udevd makes a link, and it is there when create returns", function()
  for i = 1, 5 do
    local took, v, message = seconds(dm.create, { name = "linked " .. i,
      table = { "0 2048 zero" } })
    t.ok(v, message)
    t.ok(took < 8, "no time-out")
    t.ok(t.run("readlink '" .. v.path .. "'"):find("^%.%./dm%-%d+"), "a link")
    t.equal(v:rename("again " .. i), true)
    t.ok(t.run("readlink '" .. v.path .. "'"):find("^%.%./dm%-%d+"), "a link after rename")
    t.equal(v:close(), true)
    t.ok(t.run("ls '" .. v.path .. "'"):find("No such file"), "gone when close returns")
  end
  t.equal(semaphores(), 0)
end)

t.case("a refused removal leaves no cookie behind", function()
  local v <close> = assert(dm.create { name = "busy", table = { "0 2048 zero" } })
  do
    local _ <close> = assert(require("iolua").open(v.path))
    local took, ok, _, errno = seconds(v.remove, v)
    t.equal(ok, nil)
    t.equal(errno, 16)
    t.ok(took < 8, "no time-out")
  end
  t.equal(semaphores(), 0)
end)

t.case("an udevd that does not answer costs ten seconds, not the volume", function()
  local pid = t.run("pidof systemd-udevd"):match("%d+")
  os.execute("kill -STOP " .. pid)
  local took, v, message = seconds(dm.create, { name = "silent", table = { "0 2048 zero" } })
  os.execute("kill -CONT " .. pid)
  t.ok(v, message)
  t.ok(took >= 9 and took <= 15, "took " .. took .. " s")
  t.equal(t.run("test -b /dev/mapper/silent && echo node"), "node\n")
  os.execute("udevadm settle")
  t.equal(v:close(), true)
  t.equal(semaphores(), 0)
  t.equal(#dm.list(), 0)
end)

t.done()
