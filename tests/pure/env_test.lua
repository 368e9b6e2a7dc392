-- The environment of a result, read from a tree of files made here and from this machine.
local t = require "check"
local env = require "iolua.env"

local function tree(files)
  local root = t.run("mktemp -d"):gsub("%s+$", "")
  for path, content in pairs(files) do
    assert(os.execute(("mkdir -p '%s%s'"):format(root, path:match("^(.*)/"))))
    local file = assert(io.open(root .. path, "w"))
    file:write(content, "\n")
    file:close()
  end
  return setmetatable({ root = root }, { __close = function()
    os.execute("rm -r '" .. root .. "'")
  end })
end

local FILES = {
  ["/proc/sys/kernel/osrelease"] = "6.1.0-18-amd64",
  ["/proc/sys/kernel/hostname"] = "box",
  ["/proc/cmdline"] =
    "root=/dev/sda1 mitigations=off token=secret isolcpus=2,3 nvme.poll_queues=4 quiet",
  ["/etc/os-release"] = 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"',
  ["/proc/cpuinfo"] =
    "vendor_id\t: GenuineIntel\nmodel name\t: Xeon E5\nmicrocode\t: 0x1\nflags\t\t: fpu vme",
  ["/sys/devices/system/cpu/online"] = "0-1,4",
  ["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] = "performance",
  ["/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"] = "performance",
  ["/sys/devices/system/cpu/cpu4/cpufreq/scaling_governor"] = "powersave",
  ["/sys/devices/system/cpu/vulnerabilities/meltdown"] = "Mitigation: PTI",
  ["/proc/meminfo"] =
    "MemTotal:       16303428 kB\nMemAvailable:    100 kB\nSwapTotal:             0 kB",
  ["/sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never",
  ["/proc/self/cgroup"] = "0::/user.slice/run.scope",
  ["/sys/fs/cgroup/user.slice/run.scope/cpu.max"] = "max 100000",
  ["/sys/fs/cgroup/user.slice/cpu.max"] = "150000 100000",
  ["/sys/fs/cgroup/user.slice/memory.max"] = "1073741824",
  ["/proc/self/limits"] =
    "Max locked memory         65536                65536                bytes",
  ["/proc/self/status"] =
    "Name:\tlua\nUid:\t1000\t1001\t1000\t1000\nSeccomp:\t2\nCpus_allowed_list:\t0-1",
  ["/proc/stat"] = "cpu  100 0 100 700 50 10 20 20 5 0\ncpu0 1 1",
  ["/proc/pressure/io"] =
    "some avg10=0.27 avg60=0.24 avg300=0.66 total=16901746\nfull avg10=0 total=1",
  ["/sys/class/thermal/thermal_zone0/temp"] = "45500",
}

t.case("what the files say is in the record", function()
  local dir <close> = tree(FILES)
  local e = env.read { root = dir.root }
  t.equal(e.host, "box")
  t.equal(e.os, "Debian GNU/Linux 12 (bookworm)")
  t.equal(e.kernel.release, "6.1.0-18-amd64")
  t.equal(e.cpu.model, "Xeon E5")
  t.equal(e.cpu.hypervisor, false)
  t.equal(e.cpu.count, 3)
  t.same(e.cpu.governor, { [0] = "performance", [1] = "performance", [4] = "powersave" })
  t.equal(e.memory.total_bytes, 16303428 * 1024)
  t.equal(e.memory.swap_bytes, 0)
  t.equal(e.memory.transparent_hugepage, "madvise")
  t.same(e.mitigations, { meltdown = "Mitigation: PTI" })
  t.equal(e.process.locked_memory_bytes, 65536)
  t.equal(e.process.uid, 1001)
  t.equal(e.process.seccomp, 2)
  t.equal(e.process.cpus_allowed, "0-1")
end)

t.case("only the parameters that matter are kept of the command line", function()
  local dir <close> = tree(FILES)
  t.equal(env.read({ root = dir.root }).kernel.parameters,
    "mitigations=off isolcpus=2,3 nvme.poll_queues=4")
end)

t.case("a limit set above the group of this process counts", function()
  local dir <close> = tree(FILES)
  local g = env.read({ root = dir.root }).cgroup
  t.equal(g.version, 2)
  t.equal(g.cpu_quota_us, 150000)
  t.equal(g.cpu_period_us, 100000)
  t.equal(g.memory_bytes, 1 << 30)
end)

t.case("version 1 hierarchies are read too", function()
  local dir <close> = tree {
    ["/proc/self/cgroup"] = "4:memory:/a/b\n2:cpu,cpuacct:/\n0::/",
    ["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = "-1",
    ["/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes"] = "9223372036854771712",
    ["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = "536870912",
  }
  local g = env.read({ root = dir.root }).cgroup
  t.equal(g.version, 1)
  t.equal(g.cpu_quota_us, nil)
  t.equal(g.memory_bytes, 536870912)
end)

t.case("what could not be read is listed with the reason", function()
  local dir <close> = tree {}
  local e = env.read { root = dir.root }
  local seen = {}
  for _, entry in ipairs(e.unreadable) do seen[entry.path] = entry.reason end
  t.equal(seen["/proc/cpuinfo"], "No such file or directory")
  t.equal(seen["/proc/sys/kernel/osrelease"], "No such file or directory")
  t.equal(e.kernel.release, nil)
  t.equal(e.cpu.count, nil)
  t.equal(e.memory.total_bytes, nil)
end)

t.case("drift is what changed between two samples", function()
  local dir <close> = tree(FILES)
  local a = env.sample { root = dir.root }
  t.equal(a.ticks, 1000)
  t.equal(a.steal_ticks, 20)
  t.equal(a.temperature_c, 45.5)
  local file = assert(io.open(dir.root .. "/proc/stat", "w"))
  file:write("cpu  150 0 100 730 50 10 20 40 5 0\n")
  file:close()
  local d = env.between(a, env.sample { root = dir.root })
  t.equal(d.steal_percent, 20.0)
  t.equal(d.pressure_io_us, 0)
  t.equal(d.throttled, nil)
  t.equal(d.frequency_khz, nil)
end)

t.case("this machine can be read", function()
  local e = env.read()
  t.equal(e.kernel.release, (t.run("uname -r"):gsub("%s+$", "")))
  t.equal(e.cpu.count, tonumber((t.run("getconf _NPROCESSORS_ONLN"))))
  t.ok(e.memory.total_bytes > 1 << 20)
  local d = env.between(env.sample(), env.sample())
  t.ok(d.load >= 0)
end)

t.done()
