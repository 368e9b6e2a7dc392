--- iolua.topo: described machines against hwloc's own tools, and this one against the kernel.
local t = require "check"
local iolua = require "iolua"

local function described(text) return assert(iolua.topo { synthetic = text }) end

local MACHINES = {
  "pack:2 core:4 pu:2", "node:4 core:2 pu:2", "pack:2 [numa] l3:2 l2:2 core:2 pu:2",
  "pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)", "pack:1 die:2 l3:1 core:4 pu:1", "core:3 pu:1",
}

-- What hwloc-calc says about a described machine; it prints nothing for a type without objects.
local function calc(machine, arguments)
  return (t.run(("hwloc-calc -i %q -q %s 2>/dev/null"):format(machine, arguments)):gsub("%s", ""))
end

for _, machine in ipairs(MACHINES) do
  t.case(("%s has the objects hwloc-calc counts"):format(machine), function()
    if select(2, t.run "command -v hwloc-calc") ~= 0 then t.skip("no hwloc-calc") end
    local topo = described(machine)
    t.equal(topo:count("pu"), tonumber(calc(machine, "-N pu all")))
    for _, kind in ipairs { "package", "core", "pu", "numanode", "l3cache", "l2cache", "die" } do
      local n = tonumber(calc(machine, ("-N %s all"):format(kind))) or 0
      t.equal(topo:count(kind), n, kind)
      for i = 0, n - 1 do
        local cpus = calc(machine, ("--po -I pu %s:%d"):format(kind, i))
        t.ok(topo:cpuset(kind, i) == iolua.cpuset(cpus), ("%s %d is %s"):format(kind, i, cpus))
      end
    end
  end)
end

t.case("relations name the smallest thing two CPUs share", function()
  local topo = described "pack:2 node:2 l3:2 core:2 pu:2"
  local want = { [0] = "same", [1] = "smt", [2] = "cache", [4] = "node", [8] = "package",
    [16] = "machine" }
  for cpu, relation in pairs(want) do
    t.equal(topo:relation(0, cpu), relation)
    t.equal(topo:relation(cpu, 0), relation)
  end
end)

t.case("nearest and farthest are by relation, among those given", function()
  local topo = described "pack:2 core:4 pu:2"
  t.equal(topo:nearest(0), 1)
  t.equal(topo:farthest(0), 8)
  t.equal(topo:farthest(12), 0)
  t.equal(topo:farthest(0, "0-7"), 2)
  t.equal(topo:nearest(0, { 3, 9 }), 3)
  local cpu, message, outcome = topo:farthest(0, "0")
  t.equal(cpu, nil)
  t.equal(message, "farthest CPU to 0: no other one is among 0")
  t.equal(outcome, "none allowed")
end)

t.case("misuse names the argument, at the script's line", function()
  local topo = described "pack:2 core:4 pu:2"
  local where = "topo_test.lua:"
  t.contains(t.raises('unknown type "cores"; did you mean "core"?', function()
    return topo:count("cores"), 1
  end), where)
  t.raises("a type is a string", topo.count, topo, 3)
  t.raises("9 is not in 0..7", topo.cpuset, topo, "core", 9)
  t.raises("this topology has none", topo.cpuset, topo, "l3cache", 0)
  t.contains(t.raises("no such CPU in this topology; it has 0-15", function()
    return topo:relation(0, 16), 1
  end), where)
  t.raises("unknown option sintetic", iolua.topo, { sintetic = "core:2 pu:1" })
  t.raises("xml is a string", iolua.topo, { xml = 3 })
  t.raises("not both", iolua.topo, { xml = "a", synthetic = "b" })
  t.raises("options are a table", iolua.topo, "core:2 pu:1")
end)

t.case("a wrong description or file is nil and why", function()
  local topo, message, errno = iolua.topo { synthetic = "pack:2 foo:3" }
  t.equal(topo, nil)
  t.contains(message, "not a synthetic description")
  t.equal(errno, 22)
  topo, message = iolua.topo { xml = "/nonexistent" }
  t.equal(topo, nil)
  t.equal(message, "topology /nonexistent: No such file or directory")
end)

t.case("a file that lstopo wrote is read; one of hwloc 3 is refused quietly", function()
  if select(2, t.run "command -v lstopo-no-graphics") ~= 0 then t.skip("no lstopo") end
  local path = os.tmpname()
  local _, status = t.run(("lstopo-no-graphics -f -i 'pack:2 [numa] core:2 pu:2' --of xml %s")
    :format(path))
  t.equal(status, 0)
  local topo = assert(iolua.topo { xml = path })
  t.equal(tostring(topo:cpus()), "0-7")
  t.equal(topo:relation(0, 4), "machine")
  t.equal(#topo:nodes(), 2)
  t.run(("sed -i 's/version=\"2.0\"/version=\"3.0\"/' %s"):format(path))
  local script = ('print((require "iolua").topo { xml = %q })'):format(path)
  local out = t.run(("%s -e '%s'"):format(os.getenv "IOLUA", script))
  t.contains(out, 'nil\ttopology ' .. path .. ': line 3: format version "3.0"')
  t.equal(select(2, out:gsub("\n", "")), 1)
  os.remove(path)
end)

t.case("nothing is placed by a topology that is not this machine", function()
  local topo = described "pack:1 core:2 pu:1"
  local ok, message, outcome = topo:pin "0"
  t.equal(ok, nil)
  t.equal(message, "pin: this topology is not this machine")
  t.equal(outcome, "not this machine")
  t.raises("not this machine", iolua.pin, topo:cpuset("core", 0))
  t.raises("not this machine", iolua.pin, topo:cpuset("core", 0) | "0")
  t.raises("use topo:cpus() - set", function() return ~topo:cpus() end)
  local buf <close> = iolua.buffer(4096)
  t.equal(topo:bind(buf, 0), nil)
  t.equal(select(3, topo:near "/tmp"), "not this machine")
end)

t.case("a job on this machine is not placed by another; lists are checked", function()
  local topo = described "pack:1 core:2 pu:1"
  local nop = { rw = "nop", number_ios = 10, cpus = topo:cpuset("core", 0) }
  t.raises("cpus = 0 are of a topology that is not this machine", iolua.job, nop)
  nop.cpus = "0-x"
  t.contains(t.raises('CPU list "0-x": a CPU number expected at "x"', function()
    return iolua.job(nop), 1
  end), "topo_test.lua:")
  nop.cpus = 8191
  t.contains(select(2, iolua.job(nop)), "CPU 8191: absent; this machine has ")
  nop.cpus = iolua.pinned()
  t.ok(iolua.job(nop))
end)

t.case("a topology outlives nothing that came from it", function()
  local topo = described "pack:1 core:2 pu:1"
  local set = topo:cpuset("core", 1)
  topo:close()
  topo:close()
  t.equal(tostring(set), "1")
  t.raises("topology is closed", topo.count, topo, "core")
  t.equal(tostring(topo), "topology (closed)")
end)

t.case("the tree shows packages, nodes, caches, cores", function()
  t.equal(described("pack:2 [numa(memory=2GiB)] l3:1 core:2 pu:2"):tree(), [[
machine: CPUs 0-7
  package 0: CPUs 0-3
    node 0, 2 GiB
    l3cache 0 (16 MiB): CPUs 0-3
      core 0: CPUs 0-1
      core 1: CPUs 2-3
  package 1: CPUs 4-7
    node 1, 2 GiB
    l3cache 1 (16 MiB): CPUs 4-7
      core 2: CPUs 4-5
      core 3: CPUs 6-7]])
  t.contains(tostring(described "node:2 core:64 pu:1"), "64 cores 64-127: CPUs 64-127")
end)

t.case("this machine is what the kernel says", function()
  local topo = iolua.topo()
  t.equal(topo:here(), true)
  local file = assert(io.open "/sys/devices/system/cpu/online")
  t.equal(tostring(topo:cpus()), file:read("l"))
  file:close()
  t.equal(topo:count("pu"), #topo:cpus())
  local all = iolua.cpuset ""
  for _, kind in ipairs(topo:kinds()) do all = all | kind.cpus end
  t.ok(all == topo:cpus(), "every CPU is of a kind")
end)

t.case("loading does not move the thread", function()
  local before = iolua.pinned()
  assert(iolua.pin(before:first()))
  iolua.topo():close()
  t.equal(tostring(iolua.pinned()), tostring(before:first()))
  assert(iolua.pin(before))
end)

t.case("a buffer is put on its node, and an absent node is an error", function()
  local topo = iolua.topo()
  local buf <close> = iolua.buffer(1 << 16)
  local ok, message, errno = topo:bind(buf, topo:nodes()[1].number)
  if not ok and (errno == 1 or errno == 38) then t.skip(message) end
  t.equal(ok, true)
  ok, message = topo:bind(buf, 1000)
  t.equal(ok, nil)
  t.equal(message, "memory on node 1000: No such device")
end)

t.case("a file is near what its disk is near", function()
  local topo = iolua.topo()
  local path = os.tmpname()
  local file <close> = assert(iolua.open(path))
  local by_file, node = topo:near(file)
  local by_path = topo:near(path)
  os.remove(path)
  if not by_file then t.skip(node) end
  t.ok(by_file == by_path)
  t.ok(topo:allowed():contains(by_file))
end)

t.case("disks are those of sysfs that hold something", function()
  -- Loop devices and zram come and go while other tests run.
  local want = t.run("cd /sys/block && for d in *; do case $d in loop*|zram*) ;; *) " ..
    "[ $(cat $d/size) = 0 ] || echo $d;; esac; done")
  local names = {}
  for _, disk in ipairs(iolua.topo():disks()) do
    t.ok(#disk.cpus > 0 or disk.node, disk.name)
    if not disk.name:find "^loop" and not disk.name:find "^zram" then
      names[#names + 1] = disk.name .. "\n"
    end
  end
  t.equal(table.concat(names), want)
  t.same(described("core:2 pu:1"):disks(), {})
end)

t.case("the scenario prints the tree, and disks where there are some", function()
  local command = os.getenv "IOLUA" .. " scenarios/topology.lua"
  local out, status = t.run(command .. " --synthetic 'pack:2 core:2 pu:1'")
  t.equal(status, 0, out)
  t.equal(out, described("pack:2 core:2 pu:1"):tree() .. "\n")
  out, status = t.run(command)
  t.equal(status, 0, out)
  t.contains(out, "machine: CPU")
  t.equal(select(2, t.run(command .. " --xml /nonexistent")), 1)
end)

t.case("what no disk holds is near nothing, and says so", function()
  local topo = iolua.topo()
  local cpus, message = topo:near "/proc/self/status"
  t.equal(cpus, nil)
  t.equal(message, "near /proc/self/status: no disk is known under it")
  t.equal(select(2, topo:near "/nonexistent"), "near /nonexistent: No such file or directory")
  t.raises("a file, a path or a volume expected", topo.near, topo, 3)
end)

t.case("a volume in user space is near its members", function()
  local topo = iolua.topo()
  local path = os.tmpname()
  local one = topo:near(path)
  if not one then t.skip("no disk under " .. path) end
  local file <close> = assert(iolua.open(path))
  t.ok(topo:near { members = { file, path } } == one)
  t.equal(select(2, topo:near { members = {} }), "near the volume: it has no members")
  os.remove(path)
end)

t.done()
