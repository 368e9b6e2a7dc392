--- Tables of device-mapper: what is wrong with them is said before a kernel sees them.
local t = require "check"
local build = require "iolua.dm.build"
local tables = require "iolua.dm.table"

local function size_of(device)
  local sizes = { ["/dev/a"] = 1000003, ["/dev/b"] = 1000100, ["/dev/c"] = 999999 }
  return sizes[device] or 1000000
end

local function line(kind, options) return build.line(kind, options, size_of, 1) end

local WRONG = {
  { {}, "the table is empty" },
  { { "8 100 zero" }, "line 1: starts at 8, but the first line starts at 0" },
  { { "0 100 zero", "110 10 zero" },
    "line 2: starts at 110, but the line before ends at 100: a gap of 10 sectors" },
  { { "0 100 zero", "90 10 zero" },
    "line 2: starts at 90, but the line before ends at 100: an overlap of 10 sectors" },
  { { "0 100 zero\r" }, "line 1: holds a carriage return" },
  { { "0 0 zero" }, "line 1: length: 0 sectors are no segment" },
  { { "0 1m zero" }, 'line 1: length: "1m" has a unit: write 2048, its number of sectors' },
  { { "0x0 10 zero" }, 'line 1: start: "0x0" is not a number of sectors' },
  { { "0 -5 zero" }, 'line 1: length: "-5" is not a number of sectors' },
  { { "0 zero" }, 'line 1: "0 zero" is not START LENGTH TYPE PARAMETERS' },
  { { "0 10 linear /dev/a" }, "line 1: linear: offset is missing" },
  { { "0 10 linear a 0" },
    'line 1: linear: device: "a" is no device: a path from / on, or MAJOR:MINOR' },
  { { "0 10 linear /dev/a 16k" },
    'line 1: linear: offset: "16k" has a unit: write 32, its number of sectors' },
  { { "0 10 linear /dev/a 0 7" }, 'line 1: linear: "7" is one word too many' },
  { { "0 1000 linear /dev/a 999500" },
    "line 1: linear: leg 1, /dev/a, has 1000003 sectors, 1000 are needed from 999500 on" },
  { { "0 1000 striped 2 32 /dev/a 0 /dev/b 0" },
    "line 1: striped: a length of 1000 sectors is no multiple of 64, one row of striped; " ..
    "the nearest is 1024" },
  { { "0 1024 striped 2 0 /dev/a 0 /dev/b 0" },
    "line 1: striped: chunk: 0 is less than 1, the least" },
  { { "0 1024 striped 3 32 /dev/a 0 /dev/b 0" },
    "line 1: striped: member 3 of 3: device is missing" },
  { { "0 1000 delay /dev/a 0" }, "line 1: delay: delay_ms is missing" },
  { { "0 1000 raid raid9 1 64 2 - /dev/a - /dev/b" },
    "line 1: raid: level: \"raid9\" is not one of "
    .. "raid0, raid1, raid4, raid5_la, raid5_ra, raid5_ls, ...; did you mean \"raid0\"?" },
}

for i, case in ipairs(WRONG) do
  t.case(("a wrong table is refused: %s (%d)"):format(case[2], i), function()
    local lines, message = tables.check(case[1], size_of)
    t.equal(lines, nil)
    t.equal(message, case[2])
  end)
end

t.case("a table of any target is taken, text or lines", function()
  local lines = assert(tables.check("0 100 linear /dev/a 5\n100 20 exotic 1 2 3\n", size_of))
  t.equal(#lines, 2)
  t.equal(lines[1].params, "/dev/a 5")
  t.equal(lines[2].type, "exotic")
end)

t.case("the last sector of a leg can be used, the one after it not", function()
  t.equal((tables.check({ "0 1000 linear /dev/a 999003" }, size_of) or {})[1] ~= nil, true)
  t.equal(tables.check({ "0 1000 linear /dev/a 999004" }, size_of), nil)
end)

t.case("a stripe is as long as whole rows of its smallest member", function()
  local l = line("striped", { members = { "/dev/a", "/dev/b", "/dev/c" }, chunk = "128k" })
  t.equal(l.sectors, 2999808)
  t.equal(l.params, "3 256 /dev/a 0 /dev/b 0 /dev/c 0")
  t.equal(l.unused[3], 63)
  t.equal(l.unused[1], 67)
end)

t.case("a chunk is at least one sector", function()
  t.raises("chunk = 100 bytes is no multiple of a sector, 512 bytes; the nearest is 512",
    function() line("striped", { members = { "/dev/a" }, chunk = 100 }) end)
  t.raises("chunk = 0 bytes: at least 512",
    function() line("striped", { members = { "/dev/a" }, chunk = 0 }) end)
end)

t.case("members have offsets of their own, in bytes", function()
  local l = line("striped", { chunk = "4k", size = "64k",
    members = { { "/dev/a", "1m" }, { device = "/dev/b", offset = 512 } } })
  t.equal(l.params, "2 8 /dev/a 2048 /dev/b 1")
  t.equal(l.sectors, 128)
end)

t.case("words that may be left out are", function()
  t.equal(line("delay", { device = "/dev/a", delay_ms = 20 }).params, "/dev/a 0 20")
  t.equal(line("delay", { device = "/dev/a", delay_ms = 20, write_device = "/dev/a",
    write_delay_ms = 5 }).params, "/dev/a 0 20 /dev/a 0 5")
  t.equal(line("flakey", { device = "/dev/a", up_s = 0, down_s = 5, features = { "error_reads" } })
    .params, "/dev/a 0 0 5 1 error_reads")
end)

t.case("raid without metadata devices has no bitmap, and says so", function()
  local bare = line("raid", { level = "raid5_ls", chunk = "64k", members = { "/dev/a", "/dev/b",
    "/dev/c" }, region_size = "2m" })
  t.equal(bare.params, "raid5_ls 3 128 region_size 4096 3 - /dev/a - /dev/b - /dev/c")
  t.equal(bare.sectors, 999999 // 128 * 128 * 2)
  t.contains(bare.notes[1], "no write-intent bitmap")
  local with = line("raid", { level = "raid1", sync = false, members = { "/dev/a", "/dev/b" },
    metadata = { "/dev/m1", "/dev/m2" } })
  t.equal(with.params, "raid1 2 0 nosync 2 /dev/m1 /dev/a /dev/m2 /dev/b")
  t.equal(#with.notes, 0)
end)

t.case("what is misspelt or missing is named", function()
  t.raises("did you mean \"striped\"",
    function() line("stripped", {}) end)
  t.raises("unknown option chunks; did you mean \"chunk\"",
    function() line("striped", { members = { "/dev/a" }, chunks = "4k" }) end)
  t.raises("size is missing",
    function() line("zero", {}) end)
  t.raises("no power of two",
    function() line("raid", { level = "raid1", members = { "/dev/a" }, region_size = "3m" }) end)
end)

t.done()
