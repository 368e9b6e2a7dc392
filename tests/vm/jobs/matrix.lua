-- The affinity matrix itself on a disk whose one interrupt is held on CPU 1: every row that Linux
-- can make runs, and the kernel's events agree with each label and with rq_affinity's rules.
-- when: short
-- timeout: 180
-- qemu: -blockdev driver=null-co,node-name=f0,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,num-queues=2,vectors=2
local guest = require "vm.guest"
local t = require "check"
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"

local run = guest.run

local IOLUA, DISK = os.getenv("IOLUA"), "/dev/vda"
local RQ = "/sys/block/vda/queue/rq_affinity"

local function read(path)
  local file <close> = assert(io.open(path))
  return (file:read("a"):gsub("%s+$", ""))
end

run("modprobe virtio_blk")
local VECTOR = run("sed -n 's/^ *\\([0-9]*\\):.*virtio[0-9]*-virtqueues$/\\1/p' /proc/interrupts")
local MASK = "/proc/irq/" .. VECTOR .. "/smp_affinity_list"
run("echo 1 > " .. RQ)
local BEFORE = read(MASK)

local function scenario(options)
  return run(("%s scenarios/affinity_matrix.lua --target %s --irq-cpu 1 --no-gates %s "
    .. "--json /tmp/m.json --csv /tmp/m.csv 2>&1"):format(IOLUA, DISK, options))
end

local function put_back()
  t.equal(read(RQ), "1", "rq_affinity is put back")
  t.equal(read(MASK), BEFORE, "the interrupt is put back")
end

t.case("the table of 2008: the six configurations are made and do what their labels say",
  function()
  local output = scenario("--view 2008 --runtime 300ms --replicates 1 --iodepth 4")
  t.contains(output, "CPU 1, which is given the interrupt of vda")
  local rows = {}
  for _, row in ipairs(csv.rows(read("/tmp/m.csv") .. "\n")) do
    rows[row.Q and row.A .. row.Q .. row.C or row.A] = row
  end
  -- Q-local, C-local (the interrupt's CPU), completed at A, and rq_affinity, by label.
  local WANT = {
    XXI = { false, true, false, 0 }, XAA = { true, false, true, 2 },
    XAI = { true, true, false, 0 }, XII = { false, true, false, 0 },
    IXA = { false, true, true, 0 }, IAA = { true, true, true, 0 },
    XXQ = { false, false, false, 2 }, IXQ = { false, false, false, 2 },
  }
  local measured = 0
  for label, row in pairs(rows) do
    if #label == 3 and row.status == "measured" then measured = measured + 1 end
  end
  t.equal(measured, 8, "six configurations of 2008 and two with C = Q")
  for label, want in pairs(WANT) do
    local row = assert(rows[label], label)
    t.equal(row.status, "measured", label .. ": " .. tostring(row.note))
    t.equal(row.note:find("CONTRADICTS"), nil, row.note)
    t.equal(row.rq_affinity, want[4], label)
    local total = row.q_local + row.q_remote
    local function side(what, here, away, is_local)
      t.ok((is_local and here or away) >= 0.98 * total and total > 0,
        ("%s %s: %d here, %d away"):format(label, what, here, away))
    end
    side("Q", row.q_local, row.q_remote, want[1])
    side("C", row.c_local, row.c_remote, want[2])
    side("at A", row.c_local_submitter, row.c_remote_submitter, want[3])
  end
  t.equal(rows["rq=0"].status, "measured")
  t.ok(rows["rq=0"].c_remote <= 0.02 * rows["rq=0"].c_local, "rq=0 completes at the interrupt")
  t.equal(rows["rq=1"].status, "measured")
  put_back()
end)

-- By distance of the submitter and rq_affinity: the CPU that completes. CPUs 0 and 1 share a
-- cache, CPU 2 is in the other socket.
local COMPLETES = {
  [1] = { [0] = 1, [1] = 1, [2] = 1 },
  [0] = { [0] = 1, [1] = 1, [2] = 0 },
  [2] = { [0] = 1, [1] = 2, [2] = 2 },
}

t.case("distance x rq_affinity: completions land where Linux documents it", function()
  local output = scenario("--modes inline --loads single --aliases --runtime 300ms "
    .. "--replicates 1")
  local document = json.decode(read("/tmp/m.json"))
  local by_cell, seen = {}, 0
  for _, row in ipairs(document.rows) do by_cell[row.cell] = row end
  for _, made in ipairs(document.runs) do
    local row = by_cell[made.levels.cell]
    local want = COMPLETES[row.application_cpu][row.rq_affinity]
    local what = ("CPU %d, rq_affinity %d"):format(row.application_cpu, row.rq_affinity)
    t.equal(row.completing_cpu, want, what .. ": told before")
    t.equal(made.evidence.contradiction, nil, what)
    local total, here = 0, 0
    for cpu, n in pairs(assert(made.evidence.cpus, output).complete) do
      total, here = total + n, here + (tonumber(cpu) == want and n or 0)
    end
    t.ok(total > 20 and here >= 0.98 * total, ("%s: %d of %d"):format(what, here, total))
    seen = seen + 1
  end
  t.equal(seen, 13, "nine cells, three with far memory, and the baseline again")
  put_back()
end)

t.case("SIGTERM and kill -9 in the middle: rq_affinity and the interrupt come back", function()
  for signal, next_start in pairs { TERM = "true", KILL = IOLUA .. " --restore" } do
    local changed = run(("echo 1 > %s; timeout -s %s 4 %s scenarios/affinity_matrix.lua "
      .. "--target %s --irq-cpu 2 --modes inline --loads single --runtime 100ms --replicates 1000 "
      .. "--quiet >/dev/null 2>&1 & sleep 3; cat %s; wait $!; sleep 1; %s"):format(RQ, signal,
      IOLUA, DISK, MASK, next_start))
    t.contains(changed, "2", "it was moved meanwhile")
    t.equal(read(RQ), "1", "rq_affinity after SIG" .. signal)
    put_back()
  end
end)

t.done()
