-- Sizes, durations and rates: read exactly, refused by name, printed for people.
local t = require "check"
local units = require "iolua.units"

for text, want in pairs {
  ["4k"] = 4096, ["4K"] = 4096, ["4ki"] = 4096, ["4KiB"] = 4096, ["4kB"] = 4000,
  ["4KB"] = 4000, ["1.5m"] = 1572864, ["0x1000"] = 4096, ["512"] = 512, ["512B"] = 512,
  ["0"] = 0, ["010"] = 10, ["1g"] = 1 << 30, ["2t"] = 1 << 41, ["1p"] = 1 << 50,
  ["70MB"] = 70000000, ["0.5k"] = 512, ["0.25KiB"] = 256, ["1.50k"] = 1536,
  ["0X7fffffffffffffff"] = math.maxinteger, ["9223372036854775807"] = math.maxinteger,
  ["9007199254740993"] = 9007199254740993, ["8796093022207.9990234375m"] = (1 << 63) - 1024,
  ["0.00000000000000088817841970012523233890533447265625p"] = 1,
  ["0x0000000000000000000000ff"] = 255,
} do
  t.case(("bytes reads %q"):format(text), function()
    t.equal(units.bytes(text), want)
    t.equal(math.type(units.bytes(text)), "integer")
  end)
end

for _, text in ipairs {
  "", "k", "4x", "8x", "-1", "-4k", "4kk", "1e3", "4 k", "0.3", "0x", "0x4k", "4kib", "4kb",
  "1.", ".5m", "1.5", "1.0001k", "4k ", " 4k", "1,5m", "nan", "inf", "4\0k", "+4k", "4ii",
  "1.2.3m", "0xg", "4i", "4iB", "x", "4K\n",
} do
  t.case(("bytes refuses %q"):format(text), function()
    local value, message = units.bytes(text)
    t.equal(value, nil)
    t.equal(message, ("%q is not a size"):format(text))
  end)
end

for _, text in ipairs {
  "9223372036854775808", "99999999999g", "8388608t", "0x8000000000000000",
  "0xffffffffffffffff", "0x10000000000000000", "8192p", "123456789012345678901234567890",
} do
  t.case(("bytes refuses %q, which is too large"):format(text), function()
    local value, message = units.bytes(text)
    t.equal(value, nil)
    t.equal(message, ("%q is not a size: it is 2^63 bytes or more"):format(text))
  end)
end

t.case("bytes takes whole numbers and refuses the others", function()
  t.equal(units.bytes(4096), 4096)
  t.equal(math.type(units.bytes(4096.0)), "integer")
  t.equal(units.bytes(math.maxinteger), math.maxinteger)
  for _, value in ipairs { 65.5, -1, 0 / 0, math.huge, 2.0^63 } do
    local got, message = units.bytes(value)
    t.equal(got, nil)
    t.contains(message, tostring(value))
  end
  t.equal(units.bytes({}), nil)
  t.equal(units.bytes(nil), nil)
end)

for text, want in pairs {
  ["500ms"] = 500000000, ["1.5s"] = 1500000000, ["36m"] = 2160000000000, ["0s"] = 0,
  ["30d"] = 2592000000000000, ["10us"] = 10000, ["100ns"] = 100, ["2h"] = 7200000000000,
  ["1.000000001s"] = 1000000001, ["0.5us"] = 500, ["5min"] = 300000000000,
  ["9007199.254740993s"] = 9007199254740993, ["0.1s"] = 100000000,
} do
  t.case(("ns reads %q"):format(text), function() t.equal(units.ns(text), want) end)
end

for _, text in ipairs { "", "s", "-1s", "1.5", "5", "1e3s", "5 s", "5S", "5sec", "0.3ns",
  "0.0000000001s", "1s ", "5x", "1y" } do
  t.case(("ns refuses %q"):format(text), function()
    local value, message = units.ns(text)
    t.equal(value, nil)
    t.contains(message, ("%q is not a duration"):format(text))
  end)
end

t.case("ns names the unit that is missing", function()
  local _, message = units.ns("5")
  t.contains(message, '"5s"')
end)

t.case("ns refuses 2^63 and more", function()
  t.equal(units.ns("9223372036.854775807s"), math.maxinteger)
  t.equal(units.ns("9223372036.854775808s"), nil)
  t.equal(units.ns("999999999d"), nil)
end)

t.case("ns takes integers as nanoseconds", function()
  t.equal(units.ns(5), 5)
  t.equal(units.ns(1e9), 1000000000)
  t.equal(units.ns(0.5), nil)
  t.equal(units.ns(-5), nil)
end)

t.case("rate reads bytes per second", function()
  t.equal(units.rate("70MB/s"), 70000000)
  t.equal(units.rate("1MiB/s"), 1048576)
  t.equal(units.rate(1000), 1000)
  local _, message = units.rate("70Mb/s")
  t.equal(message, '"70Mb/s" is not a rate')
end)

t.case("sizes are printed with three figures", function()
  for value, want in pairs {
    [0] = "0 B", [100] = "100 B", [4096] = "4 KiB", [1572864] = "1.5 MiB",
    [1023] = "1023 B", [1023.9] = "1 KiB", [4000000000] = "3.73 GiB", [1 << 40] = "1 TiB",
    [1010] = "1010 B", [1100000] = "1.05 MiB",
  } do
    t.equal(units.format_bytes(value), want)
  end
end)

t.case("a size printed exactly is read back", function()
  for _, value in ipairs { 0, 1, 512, 1000, 4096, 1572864, 4097, 1 << 50, math.maxinteger } do
    t.equal(units.bytes(units.format_size(value)), value)
  end
  t.equal(units.format_size(4096), "4k")
  t.equal(units.format_size(4097), "4097")
end)

t.case("durations, rates and counts are printed with three figures", function()
  for value, want in pairs {
    [0] = "0 ns", [250] = "250 ns", [12345] = "12.3 us", [1500000000] = "1.5 s",
    [999999] = "1 ms", [90000000000] = "90 s", [1000000000000] = "16 min 40 s",
    [3600000000000] = "1 h", [93600000000000] = "1 d 2 h", [123456789] = "123 ms",
  } do
    t.equal(units.format_ns(value), want)
  end
  t.equal(units.format_rate(70500000), "70.5 MB/s")
  t.equal(units.format_rate(3859.9e6), "3.86 GB/s")
  t.equal(units.format_count(950), "950")
  t.equal(units.format_count(12345), "12.3 k")
  t.equal(units.format_count(1250000), "1.25 M")
  t.equal(units.format_count(0.25), "0.25")
end)

t.done()
