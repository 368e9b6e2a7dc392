-- scenarios/affinity_matrix.lua as a user runs it, with tiny runtimes.
local t = require "check"
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"

local iolua, build = assert(os.getenv("IOLUA")), assert(os.getenv("IOLUA_BUILD"))
local folder = t.run("mktemp -d"):match("%S+")
t.run("chmod 1777 " .. folder)
local TINY = "--view 2008 --runtime 40ms --ramp 0s --size 4m --replicates 2 --no-gates"
local serial = 0

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("a")
  file:close()
  return text
end

-- Runs the scenario; output, status, rows of its CSV by label, its JSON document.
local function matrix(options, before)
  serial = serial + 1
  local base = ("%s/r%d"):format(folder, serial)
  local output, status = t.run(("env -u LUA_PATH -u LUA_CPATH TMPDIR=%s %s %s "
    .. "scenarios/affinity_matrix.lua %s --csv %s.csv --json %s.json")
    :format(folder, before or "", iolua, options, base, base))
  local found, text = pcall(read, base .. ".csv")
  local rows, order = {}, {}
  for _, row in ipairs(found and csv.rows(text) or {}) do
    local label = row.Q and ("%s %s %s"):format(row.A, row.Q, row.C) or row.A
      or #order + 1
    rows[label], order[#order + 1] = row, label
  end
  local made, document = pcall(read, base .. ".json")
  return output, status, rows, made and json.decode(document) or nil, order
end

local PUBLISHED = {
  "X X X", "X X A", "X X I", "X A X", "X A A", "X A I", "X I X", "X I A", "X I I",
  "I X X", "I X A", "I X I", "I A X", "I A A", "I A I", "I I X", "I I A", "I I I", "rq=0", "rq=1",
}
-- No kernel can make these eight: C on a third CPU, or on an application that did not queue.
local NEVER = { "X X X", "X X A", "X A X", "X I X", "X I A", "I X X", "I A X", "I I X" }

local function has(id) return (select(2, t.run("command -v " .. id))) == 0 end
local function root() return t.run("id -u"):match("^0") ~= nil end

-- A loop device of 8 MiB with data, and rq_affinity 1; put back to what it was after.
local function with_loop(name, fn)
  if not root() then t.skip("needs root") end
  local device = t.run(("head -c 8M /dev/urandom >%s/%s && losetup -f --show %s/%s"):format(folder,
    name, folder, name)):match("/dev/loop%d+")
  if not device then t.skip("no loop device to be had") end
  local path = device:gsub("/dev/", "/sys/block/") .. "/queue/rq_affinity"
  local before = read(path)
  local function write(value)
    local file = assert(io.open(path, "w"))
    file:write(value)
    file:close()
  end
  write("1")
  local ok, err = pcall(fn, device, function() return (read(path):gsub("%s", "")) end)
  write(before)
  t.run("losetup -d " .. device)
  if not ok then error(err, 0) end
end

t.case("the twenty rows come in the published order, the impossible ones unmeasured", function()
  local output, status, rows, document, order = matrix(TINY)
  t.equal(status, 0, output)
  t.same(table.move(order, 1, 20, 1, {}), PUBLISHED)
  for _, label in ipairs(NEVER) do
    t.equal(rows[label].status, "not possible", label)
    t.equal(rows[label].MB_per_s, nil)
    t.ok(#rows[label].note > 20)
  end
  t.equal(rows["I A A"].status, "measured")
  t.ok(rows["I A A"].runs >= 1)
  t.ok(rows["I A A"].MB_per_s > 0 and rows["I A A"].avg_latency_s > 0)
  t.contains(rows["I A I"].note, "same configuration as I A A")
  t.ok(#document.rows >= 20)
  t.equal(document.interrupted, false)
end)

t.case("without counting the counters are \"-\", never 0", function()
  local output, _, rows, document = matrix(TINY .. " --no-count")
  for _, row in ipairs(document.rows) do t.equal(row.q_local, nil) end
  t.equal(rows["I A A"].q_local, nil)
  t.ok(output:find("|%s+%-%s+%-%s+|%s+%-%s+%-%s+"))
  t.contains(output, "counters: --no-count was given")
end)

local SHORT = "--runtime 30ms --ramp 0s --size 4m --replicates 2 --iodepth 4 --no-gates"

t.case("the protocol runs every cell under three loads, with a duplicate in every block", function()
  local output, status, _, document = matrix(SHORT)
  t.equal(status, 0, output)
  for _, load in ipairs { "single", "peak", "control" } do t.contains(output, "\n" .. load .. ": ") end
  local count, twins = {}, 0
  for _, run in ipairs(document.runs) do
    local key = ("%s/%s/%d"):format(run.levels.load, run.levels.cell, run.block)
    count[key] = (count[key] or 0) + 1
    if run.levels.cell:find(" again$") then twins = twins + 1 end
  end
  for key, n in pairs(count) do t.equal(n, 1, key) end
  t.equal(twins, 3 * 2)
  t.equal(#document.runs, document.planned)
  for _, row in ipairs(document.rows) do
    if row.runs > 0 then t.ok(row.p50_us > 0 and row.p99_us >= row.p50_us, row.cell) end
  end
  t.equal(document.rows[1].distance, "same")
  t.contains(output, "short form")
end)

t.case("a cell that cannot be made, or is the same as another, is left out with the reason",
  function()
  with_loop("cells", function(device, value)
    local output, status, _, document = matrix(SHORT .. " --loads single --target " .. device)
    t.equal(status, 0, output)
    t.contains(output, "left out: iopoll same rq=0")
    t.contains(output, "has no poll queues")
    local rq = {}
    for _, row in ipairs(document.rows) do
      if row.mode == "inline" and row.distance == "same" then rq[row.rq_affinity] = row end
    end
    t.ok(rq[2] and rq[2].completing_cpu == rq[2].queueing_cpu)
    if rq[2].c_local_submitter then
      t.ok(rq[2].c_local_submitter > 0)
      t.equal(rq[2].c_remote_submitter, 0, "rq_affinity 2 completes where it was queued")
    end
    t.equal(value(), "1", "put back")
  end)
end)

t.case("a mode or load that is none ends with status 2 and the nearest", function()
  local output, status = matrix(SHORT .. " --modes inlin")
  t.equal(status, 2, output)
  t.contains(output, '"inlin" is none of them; did you mean "inline"')
  t.equal(select(2, matrix(SHORT .. " --loads few")), 2)
end)

t.case("the header says which CPUs were used and what X means; the end says what differs",
  function()
  local output = matrix(TINY)
  t.contains(output, "I        CPU ")
  t.contains(output, "X        ")
  t.contains(output, "A     Q  C  |")
  t.ok(output:find("replicates of one row vary by .- %%: the rows differ by")
    or output:find("no block holds all"), output)
end)

t.case("each row is run once a block, the first one twice", function()
  local _, _, _, document = matrix(TINY)
  local count, duplicates = {}, 0
  for _, run in ipairs(document.runs) do
    local key = run.label .. "/" .. run.block
    if run.duplicate then duplicates = duplicates + 1 else count[key] = (count[key] or 0) + 1 end
  end
  for key, n in pairs(count) do t.equal(n, 1, key) end
  t.equal(duplicates, 2)
  t.equal(#document.runs, document.planned)
end)

t.case("with one CPU, rows that need another say so and the rest is measured", function()
  local output, status, rows = matrix(TINY, "taskset -c 1")
  if output:find("failed to set pid") then t.skip("there is no CPU 1") end
  t.equal(status, 0, output)
  t.contains(output, "only CPU 1 may be used")
  t.equal(rows["X A A"].status, "not possible here")
  t.equal(rows["I X A"].status, "not possible here")
  t.equal(rows["I A A"].status, "measured")
end)

for name, errno in pairs { EPERM = 1, ENOSYS = 38 } do
  t.case(("io_uring refused with %s: no SQPOLL, threads measure the rest"):format(name), function()
    local output, status, rows, document = matrix(TINY, ("%s/tests/no_uring %d"):format(build,
      errno))
    t.equal(status, 0, output)
    t.contains(output, "threads instead of io_uring")
    t.equal(rows["I X A"].status, "not possible here")
    t.equal(rows["I A A"].status, "measured")
    local engine
    for _, run in ipairs(document.runs) do engine = engine or run.evidence and run.evidence.engine end
    t.equal(engine, "threads")
  end)
end

t.case("64 KiB of locked memory and no privileges are enough", function()
  if not has "setpriv" or not root() then t.skip("needs root to drop it") end
  if not t.readable_to_others() then t.skip("the tree is not readable to others") end
  local output, status, rows = matrix(TINY,
    "prlimit --memlock=65536 " .. t.as_user())
  t.equal(status, 0, output)
  t.equal(rows["I A A"].status, "measured")
end)

t.case("a loop device is read as a target", function()
  if not root() then t.skip("needs root") end
  local device = t.run(("truncate -s 8M %s/disk && losetup -f --show %s/disk"):format(folder,
    folder))
    :match("/dev/loop%d+")
  if not device then t.skip("no loop device to be had") end
  local output, status, rows = matrix(TINY .. " --target " .. device)
  t.run("losetup -d " .. device)
  t.equal(status, 0, output)
  t.contains(output, device)
  t.equal(rows["I A A"].status, "measured")
end)

t.case("a loop device that is named gets rq_affinity for each row, and its own back", function()
  with_loop("knob", function(device, value)
    local output, status, rows, document = matrix(TINY .. " --target " .. device)
    t.equal(status, 0, output)
    t.equal(value(), "1", "put back")
    t.contains(output, "set for each row: rq_affinity of " .. device:sub(6) .. ", found 1")
    t.contains(output, "a named CPU: " .. device:sub(6) .. " has no interrupts")
    t.equal(rows["rq=0"].status, "measured")
    t.equal(rows["rq=1"].status, "measured")
    t.equal(rows["I A A"].rq_affinity, 2)
    t.equal(rows["X A I"].status, "not possible here", "no interrupt, no C at I")
    if not rows["I A A"].q_local then t.skip(document.runs[1].evidence.not_counted) end
    for _, label in ipairs { "I A A", "X A A" } do
      local row = rows[label]
      if row.status == "measured" then
        t.ok(row.q_local > 0)
        t.equal(row.q_remote, 0, label .. ": queued where it was issued")
        t.ok(row.c_local_submitter >= 0.99 * row.q_local, label .. ": completed there too")
        t.equal(row.c_local, nil, "there is no interrupt")
        t.equal(row.note:find("CONTRADICTS"), nil, row.note)
      end
    end
    if rows["I X Q"] then
      t.equal(rows["I X Q"].q_local, 0, "the kernel thread queues elsewhere")
      t.equal(rows["I X Q"].c_local_submitter, 0, "and completes there")
    end
    if rows["X I I"].status == "measured" then
      t.equal(rows["X I I"].q_local, 0)
      t.ok(rows["X I I"].q_remote > 0)
    end
  end)
end)

t.case("--no-set and a file leave rq_affinity alone, --plan says what would be set", function()
  with_loop("still", function(device, value)
    local output, status, rows = matrix(TINY .. " --no-set --target " .. device)
    t.equal(status, 0, output)
    t.equal(rows["rq=0"].status, "not run")
    t.contains(rows["rq=0"].note, "needs rq_affinity 0; found 1")
    t.contains(output, "--no-set was given")
    output = matrix(TINY .. " --plan --target " .. device)
    t.contains(output, "rq_affinity of " .. device:sub(6) .. " = 0 (found 1)")
    t.contains(output, "changed: rq_affinity of " .. device:sub(6) .. ", found 1")
    t.contains(output, "written: nothing")
    t.equal(value(), "1")
  end)
end)

t.case("a killed run's rq_affinity comes back at the next start", function()
  with_loop("killed", function(device, value)
    t.run(("env -u LUA_PATH timeout -s KILL 2 %s scenarios/affinity_matrix.lua --view 2008 "
      .. "--runtime 100ms --ramp 0s --replicates 1000 --target %s"):format(iolua, device))
    t.run(("env -u LUA_PATH %s --restore"):format(iolua))
    t.equal(value(), "1")
  end)
end)

t.timed("reads that fail are counted and end with status 3", function()
  if not root() then t.skip("needs root") end
  local device = t.run(("truncate -s 8M %s/cut && losetup -f --show %s/cut && "
    .. "truncate -s 4M %s/cut")
    :format(folder, folder, folder)):match("/dev/loop%d+")
  if not device then t.skip("no loop device to be had") end
  local output, status, _, document = matrix(TINY .. " --target " .. device)
  t.run("losetup -d " .. device)
  t.equal(status, 3, output)
  t.ok(document.runs[1].evidence.errors > 0)
end)

t.case("^C keeps what was measured, marks it and ends by the signal", function()
  local output, status, _,
    document = matrix("--view 2008 --runtime 100ms --ramp 0s --size 4m --replicates 200",
    "timeout --preserve-status -s INT 4")
  t.equal(status, 130, output)
  t.equal(document.interrupted, true)
  t.ok(#document.runs >= 1 and #document.runs < document.planned)
  t.contains(output, "interrupted after")
  t.contains(output, "A     Q  C  |")
end)

t.case("the scratch file has no name, so nothing is left of it", function()
  local left = t.run(("ls -A %s | grep -v -e '^r[0-9]' -e '^disk$' -e '^cut$' -e '^knob$' "
    .. "-e '^still$' -e '^killed$' -e '^cells$'"):format(folder))
  t.equal(left, "")
end)

t.case("--json - is one document and nothing else on standard output", function()
  local output, status =
    t.run(("env -u LUA_PATH %s scenarios/affinity_matrix.lua %s --json - 2>/dev/null")
    :format(iolua, TINY))
  t.equal(status, 0)
  local document, message = json.decode(output)
  t.equal(message, nil)
  t.ok(#document.rows >= 20)
end)

t.case("--plan runs nothing and says what would be written", function()
  local output, status =
    t.run(("env -u LUA_PATH %s scenarios/affinity_matrix.lua --view 2008 --plan"):format(iolua))
  t.equal(status, 0, output)
  t.contains(output, "row=I A A; sets worker on CPU ")
  t.contains(output, "written: scratch file of 256 MiB")
  t.contains(output, "changed: nothing outside the process; ")
  t.contains(output, "not possible: nothing in Linux steers completions")
  t.equal(output:find("MBPS"), nil)
end)

t.case("a target that is missing ends with status 1 and its name, a wrong option with 2",
  function()
  local output, status = matrix(TINY .. " --target /nowhere/disk")
  t.equal(status, 1)
  t.contains(output, "open /nowhere/disk: No such file or directory")
  output, status = matrix("--runtim 1s")
  t.equal(status, 2)
  t.contains(output, "--runtime")
  t.equal(select(2, matrix("--runtime 1")), 2)
end)

t.case("progress is shown on a terminal only", function()
  if not has "script" then t.skip("no script to make a terminal with") end
  local command =
    ("env -u LUA_PATH TMPDIR=%s %s scenarios/affinity_matrix.lua %s"):format(folder, iolua, TINY)
  local output = t.run(("script -qec '%s >/dev/null' /dev/null </dev/null"):format(command))
  t.ok(output:find("%[[#.]+%] %d+/%d+"), output)
  t.equal((t.run(command .. " 2>&1 >/dev/null")), "")
end)

t.run("rm -rf " .. folder)
t.done()
