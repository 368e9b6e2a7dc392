-- A RAID 5's write-intent bitmap: 300 random writes set a bit for almost each at 64 KiB regions,
-- for each region once at 2 MiB, and one at 64 MiB.
-- timeout: 240
local guest = require "vm.guest"
local t = require "check"

assert(os.execute("modprobe dm-mod && modprobe loop && modprobe dm-raid && modprobe ext4"))
guest.unpack { "dbench", "libpopt0", "bonnie++" }

t.case("small regions are written down often, large ones hardly ever", function()
  local out, status = t.run(os.getenv("IOLUA")
    .. " scenarios/bitmap_chunk.lua --csv - --quiet --replicates 1 --folder /tmp --loads none --regions 64k,2m,64m")
  t.equal(status, 0, out)
  print(out)
  local column, values = nil, {}
  for line in out:gmatch("[^\n]+") do
    local fields = {}
    for field in (line .. ","):gmatch("([^,]*),") do fields[#fields + 1] = field end
    for i, field in ipairs(fields) do
      if field:find("^bitmap_writes") and not column then column = i end
      if field == "64k" or field == "2m" or field == "64m" then
        values[field] = tonumber(fields[column])
      end
    end
  end
  t.near(values["64k"], 243, 60)
  t.near(values["2m"], 25, 12)
  t.ok(values["64m"] >= 1 and values["64m"] <= 4, values["64m"])
end)

t.case("without arguments: the programs of 2009 beside it, each with its own count", function()
  local from = os.time()
  local out, status = t.run(os.getenv("IOLUA") .. " scenarios/bitmap_chunk.lua --folder /tmp")
  t.equal(status, 0, out)
  print(out, os.time() - from .. " s")
  for _, name in ipairs { "dbench", "bonnie", "tiotest" } do
    t.contains(out, name .. " bitmap")
    t.contains(out, name .. " MB/s")
  end
end)

t.case("nothing is left", function()
  t.equal(t.run("dmsetup ls"), "No devices found\n")
  t.equal(t.run("losetup -a"), "")
end)

t.done()
