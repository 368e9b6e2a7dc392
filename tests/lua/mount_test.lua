-- A filesystem of our own on a disk of our own: used, unmounted on every way out.
local iolua = require "iolua"
local t = require "check"
local mount = require "iolua.scratch.mount"

local IOLUA = os.getenv("IOLUA")

local function disks()
  if t.run("id -u") ~= "0\n" then t.skip("mounting needs root") end
  if select(2, t.run("command -v mkfs.ext4 umount")) ~= 0 then t.skip("no mkfs.ext4 here") end
  local d, message = iolua.scratch.disks { count = 1, size = "8m", kind = "loop", fill = false }
  if not d then t.skip(message) end
  return d
end

local function mounts(folder)
  return (t.run(("grep -c ' %s ' /proc/self/mountinfo"):format(folder))):match("%d+")
end

t.case("it is a filesystem while it is open, and gone after it", function()
  local d <close> = disks()
  local m, message = mount.new(d[1])
  if not m then t.skip(message) end
  local folder = m.folder
  t.equal(mounts(folder), "1")
  t.equal(iolua.scratch.filesystem(folder), "ext4")
  local f <close> = assert(iolua.open(folder .. "/file", { write = true, create = true }))
  f:close()
  assert(m:close())
  assert(m:close())
  t.equal(mounts(folder), "0")
  t.equal(iolua.fs.stat(folder), nil)
end)

t.case("a device that holds something is refused", function()
  local d <close> = disks()
  local m <close>, message = mount.new(d[1])
  if not m then t.skip(message) end
  local none, why = mount.new(d[1])
  t.equal(none, nil)
  t.contains(why, "in use: mounted on")
end)

local VICTIM = [[
local iolua = require "iolua"
local d <close> = assert(iolua.scratch.disks { count = 1, size = "8m", kind = "loop",
  fill = false })
local m <close> = assert(require("iolua.scratch.mount").new(d[1]))
print(m.folder) io.stdout:flush()
iolua.sleep("60s")
]]

t.case("the mount of a killed run is undone at the next start", function()
  disks():close()
  local dir = t.run("mktemp -d"):match("%S+")
  local f <close> = assert(io.open(dir .. "/victim.lua", "w"))
  f:write(VICTIM)
  f:close()
  local run = ("env IOLUA_STATE=%s/state %s"):format(dir, IOLUA)
  local pid = t.run(("%s %s/victim.lua >%s/out 2>&1 </dev/null & echo $!"):format(run, dir, dir))
    :match("%d+")
  local folder
  for _ = 1, 400 do
    folder = t.run(("cat %s/out"):format(dir)):match("^(/%S+)\n")
    if folder or select(2, t.run("kill -0 " .. pid)) ~= 0 then break end
    iolua.sleep("50ms")
  end
  if not folder then t.skip(t.run(("cat %s/out"):format(dir))) end
  t.equal(mounts(folder), "1")
  t.run(("kill -9 %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done"):format(pid, pid))
  t.equal(mounts(folder), "1")
  t.contains(t.run(run .. " -e ''"), "put back")
  t.equal(mounts(folder), "0")
  t.equal(iolua.fs.stat(folder), nil)
  t.equal(t.run("ls " .. dir .. "/state"), "")
  t.run("rm -r " .. dir)
end)

t.done()
