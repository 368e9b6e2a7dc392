-- Rates of iolua and its peers on the targets that tell engines apart: make bench.
--
-- CPU time an operation is beside it where the program tells: on a machine that does other things
-- it still compares.
--
-- Programs of one target alternate (A B C C B A ...) on CPU 0; ratios are of paired rounds, so
-- that what else the machine does hits both sides. A target whose spread is over 10 % is run
-- again, twice at most. Environment: ROUNDS (5), SECONDS (2), ONLY (a target), T_IO_URING (path
-- of fio's peak tool, which Debian does not package).
local ROUNDS = tonumber(os.getenv("ROUNDS") or 5)
local SECONDS = tonumber(os.getenv("SECONDS") or 2)
local IOLUA, FILE = arg[1], arg[2]
local T = os.getenv("T_IO_URING")
local FORMS = {         -- scripts of Lua loads: { name, file, form }
  { "next hook", "hook" }, { "fibers, f:read", "fiber", "read" },
  { "fibers, f:reader", "fiber", "reader" }, { "fibers, f:reader, one a call", "fiber", "each" },
}

local TUNED = " --fixedbufs=1 --registerfiles=1 --nonvectored=1 --norandommap=1"
  .. " --iodepth_batch_submit=64 --iodepth_batch_complete_min=64 --iodepth_batch_complete_max=128"
local PLACE = {
  null = "--filename=/dev/null --size=1g --rw=write",
  sparse = "--filename=" .. FILE .. " --size=4g --rw=randread --direct=1",
}

local function capture(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read("a")
  pipe:close()
  return text
end

local function fio(target, more)
  return ("fio --name=x --ioengine=io_uring --iodepth=128 --bs=4k --time_based --runtime=%d "
    .. "--output-format=terse %s%s"):format(SECONDS, PLACE[target], more)
end

-- Terse output: field 8 is the read rate in operations a second, field 49 the write rate.
local function fio_iops(text)
  local fields = {}
  for field in (text:match("3;[^\n]*") or ""):gmatch("([^;]*);?") do fields[#fields + 1] = field end
  local read, write = tonumber(fields[8]), tonumber(fields[49])
  local user, system = (fields[88] or ""):match("[%d.]+"), (fields[89] or ""):match("[%d.]+")
  if not read or not write then return nil end
  return read + write, user and system and (user + system) * 1e7 / (read + write)
end

-- A line a second, the first of which is a start.
local function t_iops(text)
  local sum, n = 0, -1
  for number, unit in text:gmatch("IOPS=([%d.]+)([KM]?)") do
    if n >= 0 then sum = sum + tonumber(number) * ({ K = 1e3, M = 1e6, [""] = 1 })[unit] end
    n = n + 1
  end
  return n > 0 and sum / n or nil
end

local function own_iops(text)
  return tonumber(text:match("IOPS (%d+)")), tonumber(text:match("CPU ([%d.]+)"))
end

local function own(script, what, form)
  return { command = ("%s tests/bench/%s.lua %s %d %s %s"):format(IOLUA, script, what, SECONDS, FILE,
    form or ""),
    parse = own_iops }
end

local function peak(target, batch)
  local place = target == "nop" and "-N1 -- " .. FILE or "-O1 -- " .. FILE
  return { command = ("%s -d128 -s%d -c%d -p0 -n1 -r%d %s"):format(T, batch, batch, SECONDS + 1, place),
    parse = t_iops }
end

-- What each target runs. `of` names the row that a row's ratio is taken of.
local function programs(target)
  local rows = { { name = "C job, histogram", program = own("job", target) } }
  local function row(name, program) rows[#rows + 1] = { name = name, program = program } end
  if T and target ~= "null" then
    row("t/io_uring, batch 64", peak(target, 64))
    row("t/io_uring, default batch", peak(target, 32))
  end
  if target ~= "nop" then
    for _, form in ipairs(FORMS) do row(form[1], own(form[2], target, form[3])) end
    row("fio tuned", { command = fio(target, TUNED), parse = fio_iops })
    row("fio tuned, reduced", { command = fio(target, TUNED .. " --gtod_reduce=1"), parse = fio_iops })
    row("fio default", { command = fio(target, ""), parse = fio_iops })
  end
  return rows
end

local function median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  return n % 2 == 1 and sorted[n // 2 + 1] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

local function spread(list)
  return (math.max(table.unpack(list)) - math.min(table.unpack(list))) / median(list)
end

local function measure(rows)
  for _, row in ipairs(rows) do row.values, row.cpu = {}, {} end
  for round = 1, ROUNDS do
    for i = 1, #rows do
      local row = rows[round % 2 == 1 and i or #rows + 1 - i]
      local text = capture("taskset -c 0 " .. row.program.command)
      row.values[round], row.cpu[round] = row.program.parse(text)
      assert(row.values[round], row.program.command .. "\n" .. text)
    end
  end
end

local function ratio(a, b)
  local list = {}
  for i = 1, ROUNDS do list[i] = a[i] / b[i] end
  return ("%.3f [%.2f, %.2f]"):format(median(list), math.min(table.unpack(list)),
    math.max(table.unpack(list)))
end

local function report(target, rows)
  print(("\n%s"):format(target))
  print(("%-28s %12s %8s %8s %8s   %-20s %s"):format("program", "IOPS", "ns each", "spread",
    "CPU ns", "C job / this", "by CPU time"))
  for _, row in ipairs(rows) do
    local cpu = #row.cpu == ROUNDS
    print(("%-28s %12.0f %8.1f %7.1f%% %8s   %-20s %s"):format(row.name, median(row.values),
      1e9 / median(row.values), 100 * spread(row.values),
      cpu and ("%.1f"):format(median(row.cpu)) or "-", ratio(rows[1].values, row.values),
      cpu and ratio(row.cpu, rows[1].cpu) or "-"))
  end
end

local function bench(target)
  local rows = programs(target)
  for _ = 1, 3 do
    measure(rows)
    if spread(rows[1].values) <= 0.1 then break end
  end
  report(target, rows)
  return rows
end

-- Two workers on two CPUs against one, alternating.
local function scaling()
  local one, two = {}, {}
  for round = 1, ROUNDS do
    one[round] = assert(own_iops(capture("taskset -c 0 " .. own("job", "nop").command)))
    two[round] = assert(own_iops(capture(own("job", "nop").command .. " 2")))
  end
  print(("\n2 workers / 1, nop: %s"):format(ratio(two, one)))
end

-- ns an operation on /dev/null with each option, beside the plain job's.
local function costs()
  local names = { "plain", "interval", "mix", "zipf", "noscatter", "norepeat", "rate", "each",
    "next", "on_complete", "verify" }
  local rows = {}
  for i, name in ipairs(names) do
    rows[i] = { name = name, program = { parse = own_iops,
      command = own("job", "null").command .. " 1 " .. name } }
  end
  measure(rows)
  print("\nthe cost of an option, on /dev/null")
  for _, row in ipairs(rows) do
    print(("%-28s %8.1f ns   plain / this %s"):format(row.name, 1e9 / median(row.values),
      ratio(rows[1].values, row.values)))
  end
end

-- What stamping writes and checking reads cost, in memory: bytes a second of one CPU's time.
local function verification()
  print("\nverification, a file in memory, by the worker's CPU time")
  io.write(capture(IOLUA .. " tests/bench/verify.lua"))
end

-- What a fiber costs beside the C loop with one operation in flight.
local function one_in_flight()
  local rows = { { name = "C job", program = { parse = own_iops,
    command = own("job", "null").command .. " 1 qd1" } } }
  for _, form in ipairs { "read", "each", "reader" } do
    rows[#rows + 1] = { name = "fiber, " .. (form == "read" and "f:read" or form == "each"
      and "f:reader, one a call" or "f:reader"), program = own("fiber", "null", form .. " 1") }
  end
  measure(rows)
  report("depth 1, on /dev/null", rows)
end

-- Wall time of an empty script and the resident set of a job at depth 128.
local function start_up()
  local from = capture("date +%s%N")
  for _ = 1, 50 do os.execute(IOLUA .. " -e '' ") end
  local ms = (tonumber(capture("date +%s%N")) - tonumber(from)) / 50 / 1e6
  local rss = capture("bash -c '" .. own("job", "sparse").command
    .. " & pid=$!; sleep 0.7; grep VmHWM /proc/$pid/status; wait'"):match("VmHWM:%s*(%d+)")
  print(("start-up %.1f ms (shell included), RSS at depth 128 %.1f MB"):format(ms, rss / 1024))
end

local function versions()
  print(capture("uname -sr"):gsub("\n", "") .. ", " .. capture("fio --version"):gsub("\n", "")
    .. ", " .. capture(IOLUA .. " -v"):match("[^\n]*"))
  print("iolua: " .. own("job", "TARGET").command)
  print("fio tuned:" .. TUNED)
  if not T then print("t/io_uring: not measured: T_IO_URING is not set") end
end

versions()
for _, target in ipairs { "nop", "null", "sparse" } do
  if not os.getenv("ONLY") or os.getenv("ONLY") == target then bench(target) end
end
if not os.getenv("ONLY") then
  costs()
  one_in_flight()
  verification()
  scaling()
  start_up()
end
