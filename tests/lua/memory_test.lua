-- Memory bounded by a control group, and the page cache of the whole machine dropped: real
-- groups, read by bytes that the kernel counts.
local iolua = require "iolua"
local core = require "iolua.core"
local t = require "check"
local memory = iolua.memory

local SIZE, BOUND = 24 << 20, 8 << 20
local IOLUA = os.getenv("IOLUA")

local function file()
  if iolua.scratch.filesystem(iolua.scratch.folder()) == "tmpfs" then
    t.skip("scratch files are in memory here")
  end
  return assert(iolua.scratch.file { size = SIZE, direct = false })
end

local function bound()
  local group, message = memory.bound(BOUND)
  if not group then t.skip(message) end
  return group
end

local function our_groups()
  local f <close> = assert(io.open("/proc/self/cgroup"))
  return f:read("a")
end

t.case("a bounded process keeps no more than that in the page cache, and reads again", function()
  local before, f <close> = our_groups(), file()
  local group = bound()
  t.contains(our_groups(), group.path:match("iolua%-%d+%-%d+$"))
  t.equal(memory.current(), group)
  local first = assert(iolua.job { target = f, rw = "read", bs = "64k", drop_cache = "fadvise" })
  t.equal(first.buffered.memory_bytes, BOUND)
  t.ok(assert(core.cache.resident(f)) <= BOUND, "more is cached than the bound")
  local again = assert(iolua.job { target = f, rw = "read", bs = "64k" })
  t.equal(again.buffered.refaults_of, "group")
  if again.buffered.refaults then
    t.ok(again.buffered.refaults >= 1024, again.buffered.refaults .. " pages read again")
  end
  if again.buffered.device then
    t.ok(again.buffered.device.read >= SIZE - BOUND, "what had been dropped was read again")
  end
  t.ok(group:used() <= BOUND)
  assert(group:close())
  assert(group:close())
  t.equal(our_groups(), before)
  t.equal(memory.current(), nil)
end)

t.case("a job may be bounded by itself, and all is back after it", function()
  local before, f <close> = our_groups(), file()
  bound():close()                       -- where it can be had
  local r = assert(iolua.job { target = f, rw = "read", bs = "64k", drop_cache = "fadvise",
    memory = "8m" })
  t.equal(r.buffered.memory_bytes, BOUND)
  t.equal(our_groups(), before)
  local after = assert(iolua.job { target = f, rw = "read", bs = "64k", size = "64k" })
  t.equal(after.buffered.memory_bytes, nil)
  t.ok(after.buffered.refaults_of ~= "group")
end)

t.case("misuse of memory is named", function()
  local f <close> = file()
  t.raises("it must be 4 MiB or more", iolua.job, { target = f, rw = "read",
    memory = "1k" })
  local direct <close> = assert(iolua.scratch.file { size = "64k" })
  if direct:direct() then
    t.raises("no target goes through it", iolua.job, { target = direct, rw = "read",
      memory = "8m" })
  end
  t.raises("memory = 1k: it is a size of 4 MiB or more", memory.bound, "1k")
  t.raises("cgroup names another", iolua.run, { "true", memory = "8m", cgroup = "/x" })
end)

t.case("a process is in one bound at a time", function()
  local group <close> = bound()
  local none, message, errno = memory.bound("16m")
  t.equal(none, nil)
  t.equal(message, "memory: this process is bounded to 8 MiB already")
  t.equal(errno, 16)
end)

t.case("a program is bounded in a group of its own, which goes with it", function()
  bound():close()
  local before = our_groups()
  local r = assert(iolua.run { "cat", "/proc/self/cgroup", memory = "16m" })
  local name = r.out:match("/(iolua%-%d+%-%d+)")
  t.ok(name, "it ran in a group of ours")
  t.equal(our_groups(), before)
  t.equal(t.run("find /sys/fs/cgroup -name " .. name), "")
end)

t.case("who may not make groups is told where, and reads on unbounded", function()
  if t.run("id -u") ~= "0\n" or select(2, t.run("command -v setpriv")) ~= 0 then
    t.skip("needs root and setpriv, to be somebody else")
  end
  local out, status = t.run(("setpriv --reuid 65534 --regid 65534 --clear-groups env "
    .. "IOLUA_STATE= XDG_RUNTIME_DIR= %s -e 'print(require(\"iolua\").memory.bound(\"8m\"))'")
    :format(IOLUA))
  if status ~= 0 then t.skip("another user cannot run the tree here") end
  t.contains(out, "nil\tmemory: ")
end)

-- A folder for the state of child runs, and a script in it.
local function child(text)
  local dir = t.run("mktemp -d"):match("%S+")
  local f <close> = assert(io.open(dir .. "/child.lua", "w"))
  f:write(text)
  return dir, ("env IOLUA_STATE=%s/state %s %s/child.lua"):format(dir, IOLUA, dir)
end

local HOLDER = [[
local b = assert(require("iolua").memory.bound("8m"))
print(b.path) io.stdout:flush()
require("iolua").sleep("60s")
]]

-- Start a run that holds a bound: its folder, its pid, the path of its group.
local function holder()
  bound():close()
  local dir, command = child(HOLDER)
  local pid = t.run(("%s >%s/out 2>&1 </dev/null & echo $!"):format(command, dir)):match("%d+")
  local path
  for _ = 1, 200 do
    path = t.run(("cat %s/out"):format(dir)):match("^(/%S+)\n")
    if path then break end
    iolua.sleep("50ms")
  end
  return dir, pid, t.ok(path, "the run said where it is bounded")
end

t.case("the group of a killed run is removed at the next start", function()
  local dir, pid, path = holder()
  t.equal(select(2, t.run("test -d " .. path)), 0)
  t.run(("kill -9 %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done"):format(pid, pid))
  t.equal(select(2, t.run("test -d " .. path)), 0)
  local out = t.run(("env IOLUA_STATE=%s/state %s -e ''"):format(dir, IOLUA))
  t.contains(out, "put back 1 values that run " .. pid)
  t.equal(select(2, t.run("test -d " .. path)), 1)
  t.run("rm -r " .. dir)
end)

local DROPPER = [[
local iolua = require "iolua"
local f <close> = assert(iolua.scratch.file { size = "4m", direct = false })
local r, message = iolua.job { target = f, rw = "read", bs = "64k", drop_cache = "drop_caches" }
if not r then print(message) return end
print(r.buffered.dropped.means, r.buffered.dropped.left_bytes, r.buffered.application_bytes)
]]

local function drops_here()
  if t.run("id -u") ~= "0\n" then t.skip("drop_caches is root's") end
  if select(2, t.run("test -w /proc/sys/vm/drop_caches")) ~= 0 then
    t.skip("drop_caches cannot be written here")
  end
end

-- Bytes of a file of somebody else's that are cached before a run dropped all, and after.
t.timed("drop_caches empties the cache of the whole machine, and proves it", function()
  drops_here()
  local theirs <close> = file()
  assert(iolua.job { target = theirs, rw = "read", bs = "64k" })
  assert(theirs:fsync())
  t.equal(assert(core.cache.resident(theirs)), SIZE)
  local dir, command = child(DROPPER)
  t.equal(t.run(command), "drop_caches\t0\t4194304\n")
  t.equal(assert(core.cache.resident(theirs)), 0)
  t.equal(t.run("ls " .. dir .. "/state"), "")          -- no record is left
  t.run("rm -r " .. dir)
end)

t.case("drop_caches is refused while another run is under way, which is named", function()
  drops_here()
  local dir, pid = holder()
  local f <close> = assert(io.open(dir .. "/child.lua", "w"))
  f:write(DROPPER)
  f:close()
  local out = t.run(("env IOLUA_STATE=%s/state %s %s/child.lua"):format(dir, IOLUA, dir))
  t.run(("kill %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done"):format(pid, pid))
  t.equal(out, ("job: /proc/sys/vm/drop_caches: run %s is under way and would be disturbed\n")
    :format(pid))
  t.run("rm -r " .. dir)
end)

t.done()
