-- Readers of other programs' output: real samples of Debian's programs (tests/data/programs),
-- and the published figures of the old experiments in the formats that they were printed in.
local t = require "check"
local program = require "iolua.program"

local function sample(name)
  local f <close> = assert(io.open("tests/data/programs/" .. name))
  return f:read("a")
end

local KIB, MIB = 1024, 1024 * 1024

-- The 2009 pair: seven disks, bitmap chunks of 64 MiB and of 2 MiB.
local BITMAP_2009 = [[
Version 1.03c       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
server          16G           66779  23 46588  11           127821  12 334.7   0
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
    64:65536:1024/16    35   3   113   5   404   4    36   3    54   2   193   2
]]

t.case("bonnie++ 1.03: wide numbers push columns, skipped tests leave them blank", function()
  local r = assert(program.bonnie.read(BITMAP_2009))
  t.equal(r.version, "1.03c")
  t.equal(r.size_bytes, 16 << 30)
  t.equal(r.putc, nil)
  t.equal(r.getc, nil)
  t.equal(r.block_write.bytes_per_s, 66779 * KIB)
  t.equal(r.rewrite.bytes_per_s, 46588 * KIB)
  t.equal(r.block_read.bytes_per_s, 127821 * KIB)
  t.equal(r.seeks.per_s, 334.7)
  t.equal(r.seeks.cpu_percent, 0)
  t.same(r.files, { count = 65536, max_bytes = 65536, min_bytes = 1024, dirs = 16 })
  local rates = {}
  for i, name in ipairs { "seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat",
                          "ran_delete" } do
    rates[i] = r[name].per_s
  end
  t.same(rates, { 35, 113, 404, 36, 54, 193 })
end)

t.case("bonnie++ 1.03 CSV: the other half of the pair", function()
  local r = assert(program.bonnie.read("server,16G,,,38751,14,31738,8,,,114481,11,279.0,0,"
    .. "64:65536:1024/16,30,3,104,5,340,4,30,3,64,2,160,2\n"))
  t.equal(r.block_write.bytes_per_s, 38751 * KIB)
  t.equal(r.rewrite.bytes_per_s, 31738 * KIB)
  t.equal(r.block_read.bytes_per_s, 114481 * KIB)
  t.equal(r.seeks.per_s, 279.0)
  t.equal(r.putc, nil)
  t.equal(r.seq_create.per_s, 30)
  t.equal(r.ran_delete.per_s, 160)
  t.equal(r.files.dirs, 16)
end)

-- The 2008 read-ahead pair: what was too short to say stays so.
t.case("bonnie++: +++++ is too short to say, not a number", function()
  local r = assert(program.bonnie.read("lv1,300M,,,,,,,,,,,,,16,3946,88,+++++,+++,2957,"
    .. "90,4011,90,+++++,+++,11400,100"))
  t.equal(r.seq_create.per_s, 3946)
  t.equal(r.seq_stat.too_short, true)
  t.equal(r.seq_stat.per_s, nil)
  t.equal(r.seq_delete.per_s, 2957)
  t.equal(r.ran_delete.per_s, 11400)
  t.equal(r.block_write, nil)
end)

-- The 1999 table, in the columns of the Bonnie of its time: two disks alone, then RAID 0 and 1
-- on one CPU or two, one adapter or two.
local ADAPTERS_1999 = {
  "5474 70.4 7317 9.8 2876 7.2 5701 68.4 7734 7.1 67.9 1.0",
  "6792 87.3 9825 12.5 4473 11.5 7413 89.4 12715 11.0 94.3 1.3",
  "7586 95.5 16702 18.8 4871 10.5 6533 77.5 15604 14.0 104.4 0.9",
  "7547 95.2 17350 20.0 4914 10.7 6683 79.5 15543 12.2 108.9 1.0",
  "7502 96.0 16650 20.6 4915 12.4 6455 77.5 15554 14.5 99.5 1.5",
  "7399 95.6 15918 21.9 5018 13.2 6612 79.7 15491 15.3 101.9 1.6",
  "4851 62.2 6301 7.1 2506 5.6 5675 68.4 6304 5.5 80.7 1.2",
  "4948 63.7 6539 7.5 2485 5.6 5699 69.1 6299 5.6 80.6 1.1",
  "4753 62.8 6627 8.9 2513 6.9 5457 66.9 6310 6.5 81.0 0.9",
  "4985 66.3 6639 9.5 2497 7.3 5447 66.5 6263 6.9 80.5 1.5",
}

t.case("Bonnie's table of 1999, every figure", function()
  local head = "              -------Sequential Output-------- ---Sequential Input-- --Random--\n"
    .. "              -Per Char- --Block--- -Rewrite-- -Per Char- --Block--- --Seeks---\n"
    .. "Machine    MB K/sec %CPU K/sec %CPU K/sec %CPU K/sec %CPU K/sec %CPU  /sec %CPU\n"
  for _, row in ipairs(ADAPTERS_1999) do
    local n = {}
    for word in row:gmatch("%S+") do n[#n + 1] = tonumber(word) end
    local r = assert(program.bonnie.read(head .. "          512 " .. row .. "\n"))
    t.equal(r.size_bytes, 512 * MIB)
    for i, name in ipairs { "putc", "block_write", "rewrite", "getc", "block_read" } do
      t.equal(r[name].bytes_per_s, n[2 * i - 1] * KIB)
      t.equal(r[name].cpu_percent, n[2 * i])
    end
    t.equal(r.seeks.per_s, n[11])
    t.equal(r.files, nil)
  end
  t.contains(select(2, program.bonnie.read(head .. "  512 1 2 3\n")), "line 4")
end)

t.case("bonnie++ 2.00 as Debian has it: the CSV line is read before the tables", function()
  local r = assert(program.bonnie.read(sample "bonnie-2.00.txt"))
  t.equal(r.version, "2.00a")
  t.equal(r.size_bytes, 16 * MIB)
  t.equal(r.chunk_bytes, 8192)
  t.equal(r.putc.bytes_per_s, 346 * KIB)
  t.equal(r.putc.latency_max_ns, 216000000)
  t.equal(r.block_write.too_short, true)
  t.equal(r.block_write.latency_max_ns, 54103000)
  t.equal(r.seq_create.per_s, 824)        -- its table says 1024
  t.equal(r.ran_create.per_s, 880)
  t.equal(r.files.count, 1024)
  t.equal(r.files.dirs, 2)
end)

t.case("bonnie++ 2.00 tables alone: the same, without the create rates they print wrongly",
  function()
    local r = assert(program.bonnie.read((sample("bonnie-2.00.txt"):gsub("\n1%.98[^\n]*", ""))))
    t.equal(r.putc.bytes_per_s, 346 * KIB)
    t.equal(r.getc.bytes_per_s, 997 * KIB)
    t.equal(r.getc.latency_max_ns, 74465000)
    t.equal(r.seeks.latency_max_ns, 24301000)
    t.equal(r.seq_create, nil)
    t.equal(r.seq_delete.too_short, true)
    t.equal(r.ran_delete.latency_max_ns, 4647000)
    t.same(r.files, { count = 1024, max_bytes = 1024, min_bytes = 0, dirs = 2 })
  end)

for name, output in pairs {
  ["a row of bonnie++ with a stray word"] = BITMAP_2009:gsub("66779  23", "x6779  23"),
  ["a CSV line with a field too many"] = "server,16G,,,38751,14,31738,8,,,114481,11,279.0,0,"
    .. "64,30,3,104,5,340,4,30,3,64,2,160,2,9",
  ["nothing at all"] = "Writing intelligently...done\n",
} do
  t.case(name .. " is refused with its line", function()
    local r, message = program.bonnie.read(output)
    t.equal(r, nil)
    t.contains(message, "bonnie++: ")
    t.contains(message, "line ")
  end)
end

t.case("dbench 4: the result at the end, not the running mean above it", function()
  local r = assert(program.dbench.read(sample "dbench-4.00.txt"))
  t.equal(r.version, "4.00")
  t.near(r.bytes_per_s, 139643000, 1e-3)
  t.equal(r.clients, 2)
  t.equal(r.procs, 2)
  t.equal(r.latency_max_ns, 163479000)
  t.same(r.operations.Flush, { count = 880, mean_ns = 3792000, max_ns = 163475000 })
  t.equal(r.operations.NTCreateX.count, 12422)
end)

t.case("the published pair of 2009 by dbench", function()
  for _, rate in ipairs { 110.101, 92.6969 } do
    local r = assert(program.dbench.read(("  16    123456   %.2f MB/sec  execute 299 sec\n"
      .. "  16  cleanup 300 sec\n\nThroughput %g MB/sec 16 procs\n"):format(rate + 5, rate)))
    t.near(r.bytes_per_s, rate * 1e6, 1e-3)
    t.equal(r.clients, 16)
    t.equal(r.operations, nil)
  end
end)

t.case("dbench 5 prints names in full and marks what is synchronous", function()
  local r = assert(program.dbench.read([[
 Operation                Count    AvgLat    MaxLat
 --------------------------------------------------
 QUERY_PATH_INFORMATION   11149     0.010     8.063

Throughput 12.5 MB/sec (sync open) (sync dirs)  4 clients  2 procs  max_latency=1.000 ms
]]))
  t.equal(r.sync_open and r.sync_dirs, true)
  t.equal(r.procs, 2)
  t.equal(r.operations.QUERY_PATH_INFORMATION.max_ns, 8063000)
end)

t.case("dbench that broke off has running means only, and is refused", function()
  local r, message = program.dbench.read("   2  8825   121.94 MB/sec  execute   1 sec\n")
  t.equal(r, nil)
  t.contains(message, "only running means")
end)

t.case("spew: transfers and totals", function()
  local r = assert(program.spew.read(sample "spew_raw.txt"))
  t.equal(#r.transfers, 2)
  t.equal(r.transfers[1].way, "write")
  t.ok(r.write.bytes_per_s > 0 and r.read.iops > 0, "rates")
  local totals = assert(program.spew.read(sample "spew_totals.txt"))
  t.equal(#totals.transfers, 1)
  t.near(totals.write.bytes_per_s, totals.transfers[1].bytes_per_s, 1)
  t.equal(#assert(program.spew.read(sample "spew_mixed.txt")).transfers, 2)
  t.contains(select(2, program.spew.read("WTR: quick\n")), "line 1")
  t.contains(select(2, program.spew.read("Read transfer rate: fast\n")), "line 1")
end)

-- The best row of 2005's stripe sweep, as the spew of its time said it.
t.case("spew of old: the rate in words", function()
  local r = assert(program.spew.read("Read transfer rate:       366.55 MB/s  Transfer time: "
    .. "00:00:29\n"))
  t.near(r.read.bytes_per_s, 366.55e6, 1e-3)
  t.equal(r.read.whole_seconds, 29)
end)

t.case("hdparm: MB is 2^20", function()
  local r = assert(program.hdparm.read(sample "hdparm_direct.txt"))["/dev/loop0"]
  t.equal(r.disk.bytes, 64 * MIB)
  t.equal(r.disk.direct, true)
  t.equal(r.cached.bytes_per_s, 3785.33 * MIB)
  r = assert(program.hdparm.read(sample "hdparm_t.txt"))["/dev/loop0"]
  t.equal(r.disk.bytes_per_s, 309.37 * MIB)
  t.equal(r.disk.direct, false)
  t.contains(select(2, program.hdparm.read("/dev/x:\n Timing nothing: 3\n")), "line 2")
end)

-- The 2008 reports: an array, and a volume on all of it.
t.case("dd: the rates of the published runs", function()
  local md = assert(program.dd.read("336824+1 records in\n336824+1 records out\n"
    .. "353185562624 bytes (353 GB) copied, 420.033 s, 841 MB/s\n"))
  t.equal(md.bytes_per_s // 1e6, 840.0)        -- dd rounds 840.85 to 841
  t.near(md.bytes_per_s, 840.85e6, 0.02e6)
  t.equal(md.records_in.partial, 1)
  local lv = assert(program.dd.read("148344+0 records in\n148344+0 records out\n"
    .. "155551006720 bytes (156 GB) copied, 216.576 s, 718 MB/s\n"))
  t.near(lv.bytes_per_s, 718.2e6, 0.1e6)
  local now = assert(program.dd.read(sample "dd.txt"))
  t.equal(now.bytes, 6553600)
  t.equal(now.records_out.whole, 100)
end)

t.case("tiotest: table and terse agree on what they both tell", function()
  local r = assert(program.tiotest.read([[
Tiotest results for 6 concurrent io threads:
,----------------------------------------------------------------------.
| Item                  | Time     | Rate         | Usr CPU  | Sys CPU |
+-----------------------+----------+--------------+----------+---------+
| Write        6144 MBs |   90.5 s |  67.890 MB/s |   1.2 %  |  33.4 % |
| Random Write   23 MBs |   10.1 s |   2.277 MB/s |   0.1 %  |   0.9 % |
| Read         6144 MBs |   50.0 s | 122.880 MB/s |   1.0 %  |  20.0 % |
| Random Read    23 MBs |    9.0 s |   2.556 MB/s |   0.0 %  |   1.0 % |
`----------------------------------------------------------------------'
Tiotest latency results:
,-------------------------------------------------------------------------.
| Item         | Average latency | Maximum latency | % >2 sec | % >10 sec |
+--------------+-----------------+-----------------+----------+-----------+
| Write        |        0.341 ms |     2750.123 ms |  0.00100 |   0.00000 |
| Random Write |        9.870 ms |      812.000 ms |  0.00000 |   0.00000 |
| Read         |        0.190 ms |      300.500 ms |  0.00000 |   0.00000 |
| Random Read  |        8.900 ms |      401.250 ms |  0.00000 |   0.00000 |
|--------------+-----------------+-----------------+----------+-----------|
| Total        |        0.410 ms |     2750.123 ms |  0.00050 |   0.00000 |
`--------------+-----------------+-----------------+----------+-----------'
]]))
  t.equal(r.write.bytes, 6144 * MIB)
  t.equal(r.write.bytes_per_s, 67.890 * MIB)
  t.equal(r.random_read.seconds, 9.0)
  t.equal(r.write.max_ns, 2750123000)
  t.equal(r.total.over_2s_percent, 0.0005)
  local terse = assert(program.tiotest.read(
    "write:6144,90.5,1.0,30.0,0.341,2750.123,0.00100,0.00000\ntotal:0.41,2750.1,0.0005,0\n"))
  t.near(terse.write.bytes_per_s, 67.890 * MIB, 0.01 * MIB)
  t.contains(select(2, program.tiotest.read("| Write 12 MBs | x s | 1 MB/s | 1 % | 2 % |")),
    "line 1")
end)

t.case("iozone: columns by their width, blanks are nil, numbers may touch", function()
  local head = "                                                              random\n"
    .. "              kB  reclen    write  rewrite    read    reread    read     write\n"
  local cells = ("%16d%8d%9d%9d%9d%9d%9d%9d\n"):format(524288, 4, 17300, 17800, 14300, 14400,
    123456789, 7)
  local rows = assert(program.iozone.read(head .. cells .. "\niozone test complete.\n"))
  t.equal(#rows, 1)
  t.equal(rows[1].file_bytes, 512 * MIB)
  t.equal(rows[1].record_bytes, 4096)
  t.equal(rows[1].write.bytes_per_s, 17300 * 1024)
  t.equal(rows[1].random_read.bytes_per_s, 123456789 * 1024)
  t.equal(rows[1].random_write.bytes_per_s, 7 * 1024)
  t.equal(rows[1].fread, nil)
  local ops = assert(program.iozone.read("\tOPS Mode. Output is in operations per second.\n"
    .. head .. cells))
  t.equal(ops[1].write.per_s, 17300)
  t.contains(select(2, program.iozone.read(head .. "  64  4 100\n")), "line 3")
end)

t.case("sysbench fileio", function()
  local r = assert(program.sysbench.read(sample "sysbench.txt"))
  t.equal(r.reads_per_s, 22724.99)
  t.equal(r.read_bytes_per_s, 355.08 * MIB)
  t.equal(r.events, 44063)
  t.equal(r.latency_max_ns, 91360000)
  t.equal(r.percentile, 95)
  t.contains(select(2, program.sysbench.read("nothing\n")), "sysbench: ")
end)

t.case("fio: json+ with its bins, every one counted", function()
  local r = assert(program.fio.read(sample "fio-3.33-plus.json"))
  local job = r.jobs[1]
  t.equal(r.version, "fio-3.33")
  t.equal(job.read.ios, 496)
  t.equal(job.read.bytes, 496 * 4096)
  t.equal(job.write.ios, 528)
  t.equal(job.trim, nil)
  t.equal(job.read.elapsed_ns, 61000000)
  t.equal(job.read.completion.min_ns, 52327)
  local seen, last = 0, 0
  local hist = {}
  function hist:record(ns, n)
    t.ok(self == hist and ns > last, "order")
    seen, last = seen + n, ns
  end
  t.equal(program.fio.record(hist, job.read.completion), 496)
  t.equal(seen, 496)
  t.equal(program.fio.record(hist, job.read.latency), nil)     -- json+ bins clat alone here
end)

t.case("fio: what is no JSON, or not fio's, is refused", function()
  t.contains(select(2, program.fio.read("fio: failed to open\n")), "no JSON")
  t.contains(select(2, program.fio.read("{ \"jobs\" : [ {")), "broken")
  t.contains(select(2, program.fio.read("{ \"a\" : 1 }")), "no jobs")
  t.ok(program.fio.read("fio: a warning\n" .. sample "fio-3.33-plus.json"), "skips warnings")
end)

t.case("numbers that are none are refused, not raised", function()
  for name, text in pairs {
    spew = "Total write transfer rate (WTR):   1.2.3 KiB/s",
    hdparm = "/dev/x:\n Timing cached reads:   99999999999999999999 MB in  2.00 seconds =  5.00 MB/sec",
    sysbench = "    reads/s:                      1..2", tiotest =
    "| Write         4.0.1 MBs |    0.1 s | 351.105 MB/s |  10.5 %  | 107.9 % |",
    iozone = "              kB  reclen    write  rewrite\n             1.5       4   100000",
    bonnie = "vm,16M,1,1,1,1,1,1,1,1,1,1,1,1,x:1/2,1,1,1,1,1,1,1,1,1,1,1,1",
    fio = '{"fio version":"fio-3","jobs":[1]}',
  } do
    local r, message = program[name].read(text)
    t.equal(r, nil, name)
    t.equal(type(message), "string", name)
  end
end)

t.case("fio: values of another kind are as not there", function()
  local r = assert(program.fio.read('{"fio version":"fio-3","jobs":[{"jobname":3,"error":"x",'
    .. '"read":{"total_ios":2,"runtime":"x","clat_ns":{"N":{}}},"write":{"total_ios":"2"}}]}'))
  t.same(r.jobs[1], { read = { ios = 2 } })
end)

t.done()
