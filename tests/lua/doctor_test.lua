-- What --doctor says, against made-up /proc and /sys trees and against this machine.
local t = require "check"
local doctor = require "iolua.doctor"

local function write(root, path, text)
  os.execute(("mkdir -p '%s%s'"):format(root, path:match("^(.*)/")))
  local file = assert(io.open(root .. path, "w"))
  file:write(text)
  file:close()
end

-- The findings in a folder that holds only these files, by "area/name".
local function findings(files)
  local root = os.tmpname()
  os.remove(root)
  os.execute("mkdir " .. root)
  for path, text in pairs(files) do write(root, path, text) end
  local found = {}
  for _, finding in ipairs(doctor.read { root = root }) do
    found[finding.area .. "/" .. finding.name] = finding
  end
  os.execute("rm -r " .. root)
  return found
end

local USER = [[
Name:	iolua
Uid:	1000	1000	1000	1000
CapEff:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
]]

t.case("an ordinary user in a container is told what is missing and what would help", function()
  local found = findings {
    ["/proc/self/status"] = USER,
    ["/sys/kernel/security/lockdown"] = "none integrity [confidentiality]\n",
  }
  local user = found["privileges/user"]
  t.equal(user.state, "limited")
  t.equal(user.detail, "uid 1000")
  t.contains(user.remedy, "sudo")
  local capabilities = found["privileges/capabilities"]
  t.contains(capabilities.detail, "CAP_PERFMON")
  t.contains(capabilities.reason, "event counters")
  t.equal(found["privileges/seccomp"].state, "limited")
  t.equal(found["privileges/lockdown"].detail, "confidentiality")
end)

t.case("root with every capability is ok", function()
  local found = findings {
    ["/proc/self/status"] = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n",
    ["/sys/kernel/security/lockdown"] = "[none] integrity confidentiality\n",
  }
  t.equal(found["privileges/user"].state, "ok")
  t.equal(found["privileges/capabilities"].state, "ok")
  t.equal(found["privileges/seccomp"], nil)
  t.equal(found["privileges/lockdown"], nil)
end)

t.case("a capability that is missing is named alone", function()
  -- All but bit 38, CAP_PERFMON.
  local found = findings { ["/proc/self/status"] = ("Uid:\t0\t0\t0\t0\nCapEff:\t%016x\n")
    :format(0x1ffffffffff & ~(1 << 38)) }
  t.equal(found["privileges/capabilities"].detail, "without CAP_PERFMON")
end)

t.case("a slow clock is limited and says what the kernel knows", function()
  local folder = "/sys/devices/system/clocksource/clocksource0/"
  local found = findings {
    [folder .. "current_clocksource"] = "hpet\n",
    [folder .. "available_clocksource"] = "tsc hpet acpi_pm \n",
  }
  t.equal(found["clock/source"].state, "limited")
  t.equal(found["clock/source"].detail, "hpet")
  t.contains(found["clock/source"].remedy, "tsc=reliable")
  found = findings { [folder .. "current_clocksource"] = "tsc\n" }
  t.equal(found["clock/source"].state, "ok")
end)

t.case("attributes that a disk's driver has not are named", function()
  local queue = "/sys/block/sda/queue/"
  local found = findings {
    ["/sys/block/sda/size"] = "2048\n", [queue .. "scheduler"] = "[none]\n",
    [queue .. "read_ahead_kb"] = "128\n", [queue .. "rq_affinity"] = "1\n",
    [queue .. "nr_requests"] = "64\n", [queue .. "nomerges"] = "0\n",
    [queue .. "max_sectors_kb"] = "1280\n", [queue .. "iostats"] = "1\n",
    [queue .. "write_cache"] = "write back\n",
    ["/sys/block/loop9/size"] = "0\n",
  }
  t.equal(found["settings/sda"].state, "limited")
  t.contains(found["settings/sda"].detail, "rq_affinity")
  t.equal(found["settings/sda"].reason, "its driver has no wbt_lat_usec")
  t.equal(found["settings/loop9"], nil)         -- nothing is in it
end)

t.case("control groups need version 2 and io", function()
  local found = findings { ["/sys/fs/cgroup/cgroup.controllers"] = "cpuset cpu io memory\n" }
  t.equal(found["settings/io.max"].state, "ok")
  found = findings { ["/sys/fs/cgroup/cgroup.controllers"] = "cpu memory\n" }
  t.equal(found["settings/io.max"].state, "no")
end)

t.case("on this machine each area has findings, and what is not ok has reason and remedy",
  function()
    local areas, n = {}, 0
    for _, finding in ipairs(doctor.read()) do
      areas[finding.area] = true
      n = n + 1
      t.ok(finding.name ~= "check", "the area can be looked at: " .. tostring(finding.reason))
      t.ok(finding.detail ~= "", "a detail")
      if finding.state == "ok" then
        t.equal(finding.reason, nil, finding.name .. "'s reason")
      else
        t.ok(finding.reason, "a reason for " .. finding.name)
        t.ok(finding.remedy, "a remedy for " .. finding.name)
      end
    end
    t.ok(n > 15, "findings")
    for _, area in ipairs { "privileges", "io_uring", "topology", "tracepoints", "interrupts",
      "settings", "device-mapper" } do
      t.ok(areas[area], area)
    end
  end)

t.case("a check that fails is a finding, the others go on", function()
  local checks = require "iolua.doctor.checks"
  local clock = checks.clock
  checks.clock = function() error("made to fail") end
  local found = findings {}
  checks.clock = clock
  t.equal(found["clock/check"].state, "limited")
  t.contains(found["clock/check"].reason, "made to fail")
  t.ok(found["privileges/user"])
end)

t.done()
