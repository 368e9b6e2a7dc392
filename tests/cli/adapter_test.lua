-- scenarios/adapter_scaling.lua: the question of 1999 on described machines, and on this one.
local t = require "check"
local IOLUA = os.getenv("IOLUA")
local RUN = IOLUA .. " --machine %s scenarios/adapter_scaling.lua %s"
local OLD = "scenarios/machines/1999-adapters.lua"

local function machine(disk, bus)
  local path = os.tmpname()
  local f <close> = assert(io.open(path, "w"))
  f:write(([[
return { name = "made up", topology = { synthetic = "pack:1 core:1 pu:1" },
  buses = { a = { bandwidth = "%s" }, b = { bandwidth = "%s" } },
  devices = { ["/dev/sda"] = { bandwidth = "%s", bus = "a" },
              ["/dev/sdb"] = { bandwidth = "%s", bus = "a" },
              ["/dev/sdc"] = { bandwidth = "%s", bus = "b" } } }
]]):format(bus, bus, disk, disk, disk))
  return path
end

t.case("disks of 11 MB/s do not fill 40 MB/s: two adapters cannot matter", function()
  local out, status = t.run(RUN:format(OLD, ""))
  t.equal(status, 0, out)
  t.ok(out:find("%d+ %% of the sum"), "the ceiling")
  t.contains(out, "read, stripe: MB_per_s: cannot matter here: two members do not fill one adapter")
end)

t.case("the same rows twice, to the bit", function()
  local function rows() return t.run(RUN:format(OLD, "--csv -")):gsub("%d%d%d%d%-%d%d%-[%dT:]+Z", "") end
  local first = rows()
  t.ok(#first > 500, "rows")
  t.equal(rows(), first)
end)

t.case("disks of 30 MB/s fill 40 MB/s: a second adapter makes reads of a stripe faster", function()
  local path = machine("30MB/s", "40MB/s")
  local out, status = t.run(RUN:format(path, ""))
  os.remove(path)
  t.equal(status, 0, out)
  local percent = out:match("read, stripe: MB_per_s: adapters=2 is faster than adapters=1 by ([%d.]+) %%")
  t.near(tonumber(percent), 50, 5)         -- 60 MB/s of two disks, 40 MB/s of one bus
end)

t.case("scratch members are on one adapter: it says so and compares CPUs", function()
  local out, status = t.run(IOLUA .. " scenarios/adapter_scaling.lua --runtime 20ms --replicates 2")
  t.equal(status == 0 or status == 1, true)
  t.contains(out, "only CPUs are compared")
end)

t.case("a plan makes no scratch disks, and names every part that would run", function()
  for scenario, parts in pairs { adapter_scaling = { "adapter-scaling: " },
      stripe_sweep = { "members: ", "stripe-sweep: ", "controls: " } } do
    -- No file may grow: scratch disks could not be written.
    local out, status = t.run(("ulimit -f 0; %s scenarios/%s.lua --plan"):format(IOLUA, scenario))
    t.equal(status, 0, out)
    for _, part in ipairs(parts) do t.contains(out, "\n" .. part) end
    t.contains(out, "written: ")
  end
end)

t.done()
