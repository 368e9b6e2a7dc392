-- The question of 1999: two SCSI disks of 10 MB/s and more, on one adapter of 40 MB/s or on two.
-- The third disk is the second one's twin on the other adapter.
local disk = { size = "9g", bandwidth = "11MB/s", seek = { min = "1ms", max = "14ms" } }

local function on(bus)
  local copy = { bus = bus }
  for key, value in pairs(disk) do copy[key] = value end
  return copy
end

return {
  name = "1999: two adapters",
  topology = { synthetic = "pack:2 core:1 pu:1" },
  buses = { scsi0 = { bandwidth = "40MB/s", overhead = "100us" },
            scsi1 = { bandwidth = "40MB/s", overhead = "100us" } },
  devices = { ["/dev/sda"] = on "scsi0", ["/dev/sdb"] = on "scsi0", ["/dev/sdc"] = on "scsi1" },
  lacks = { "block events", "interrupts" },
}
