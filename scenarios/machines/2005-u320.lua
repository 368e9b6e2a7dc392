-- The machine of the stripe sweep of 2005: a 4-way ia64 with U320 adapters and ten disks, taken
-- from different buses first: of eight buses, the first two carry two disks each.
-- A 16 KiB read of one disk takes 181 us on the disk and 51 us on the bus: the 70.5 MB/s that the
-- sweep found for one disk at every transfer size. Nothing is made up to match the rest of it.
local buses, devices = {}, {}
for i = 1, 8 do buses["u320-" .. i] = { bandwidth = "320MB/s" } end
for i = 1, 10 do
  devices["/dev/sd" .. ("abcdefghij"):sub(i, i)] = {
    size = "36GB", bandwidth = 90500000, seek = { min = "600us", max = "9ms" },
    bus = "u320-" .. (i - 1) % 8 + 1,
  }
end

return {
  name = "2005: 4-way ia64, U320",
  topology = { synthetic = "pack:4 core:1 pu:1" },
  buses = buses, devices = devices,
  lacks = { "block events", "interrupts" },
}
