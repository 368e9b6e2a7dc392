-- iolua.experiment: every case in blocks, failures as rows, what is closed when.
local t = require "check"
local iolua = require "iolua"

local function run(options)
  options.name = options.name or "test"
  options.seed = options.seed or 1
  options.quiet = true
  return iolua.experiment(options)
end

t.case("each block holds every case once and the baseline twice", function()
  local r = run { factors = { width = { 1, 2, 4 } }, replicates = 5,
                  measure = function(case) return { MB_per_s = 100 * case.width } end }
  t.equal(#r.rows, 5 * 4)
  local seen = {}
  for _, row in ipairs(r.rows) do
    local key = ("%d/%s/%s"):format(row.block, row.label, row.duplicate or false)
    t.equal(seen[key], nil, key)
    seen[key] = true
  end
  t.ok(seen["3/width=1/true"] and seen["3/width=1/false"])
  t.same(r:values(2, "MB_per_s"), { 200, 200, 200, 200, 200 })
end)

t.case("the same seed gives the same order, and the seed is told", function()
  local function order(seed)
    local r = run { factors = { x = { 1, 2, 3, 4 } }, replicates = 3, seed = seed,
                    measure = function() return { v = 1 } end }
    local labels = {}
    for i, row in ipairs(r.rows) do labels[i] = row.label end
    return table.concat(labels, " "), r.seed
  end
  t.equal(order(7), (order(7)))
  t.ok(order(7) ~= order(8))
  t.equal(select(2, order(7)), 7)
end)

t.case("a case that raises or reports a failure is a row with its error; the others go on",
  function()
  local r = run { factors = { x = { 1, 2, 3 } }, replicates = 2, measure = function(case)
    if case.x == 2 then error("no such thing") end
    if case.x == 3 then return nil, "read /dev/x at 0: Input/output error" end
    return { v = 1 }
  end }
  local failed = r:lost()
  t.equal(failed, 4)
  local summary = r:summary()
  t.equal(summary[1].n, 2)
  t.equal(summary[2].v, nil)
  t.contains(summary[2].note, "no such thing")
  t.equal(summary[3].note, "read /dev/x at 0: Input/output error")
end)

t.case("what setup gives is closed after each case, last made first, also when it fails",
  function()
  local log = {}
  local function thing(name)
    return setmetatable({}, { __close = function() log[#log + 1] = name end })
  end
  run { factors = { x = { 1 } }, duplicate = false,
        setup = function() return { thing "a", thing "b" } end,
        teardown = function() log[#log + 1] = "teardown" end,
        measure = function() log[#log + 1] = "measure"; error "x" end }
  t.equal(table.concat(log, " "), "measure teardown b a")
end)

t.case("a closer that fails marks its row", function()
  local r = run { factors = { x = { 1 } }, duplicate = false,
    setup = function() return setmetatable({},
      { __close = function() error "cannot put back" end }) end,
    measure = function() return { v = 1 } end }
  t.contains(r.rows[1].error, "cannot put back")
  t.equal(r:measured(), false)
end)

t.case("NaN and infinities are nothing measured, histograms are kept whole", function()
  local r = run { factors = { x = { 1 } }, duplicate = false, measure = function()
    return { a = 0 / 0, b = 1 / 0, c = 1, lat = iolua.hist():record(1000, 3):record(5000) }
  end }
  local row = r.rows[1]
  t.same(row.values, { c = 1 })
  t.equal(row.histograms.lat.count, 4)
  t.equal(row.histograms.lat.min_ns, 1000)
  t.equal(row.histograms.lat.max_ns, 5000)
end)

t.case("compare tells a difference from noise, against the baseline given", function()
  local r = run { factors = { width = { 1, 2 }, rw = { "read", "write" } }, replicates = 6,
    measure = function(case, _, now)
      -- A spread of 1 that does not depend on the arm.
      local noise = (now.seed >> 7) % 1000 / 1000 - 0.5
      return { MB_per_s = (case.width == 2 and 120 or 100) + noise }
    end }
  local c = r:compare { factor = "width", metric = "MB_per_s", smallest = "2%" }
  t.equal(c.arms[1].verdict, "faster")
  t.near(c.arms[1].percent, 20, 1)
  c = r:compare { factor = "width", metric = "MB_per_s", baseline = 2, smallest = "2%" }
  t.equal(c.arms[1].verdict, "slower")
  c = r:compare { factor = "rw", metric = "MB_per_s", smallest = "2%" }
  t.equal(c.arms[1].verdict, "equivalent")
end)

t.case("misuse names the value and the nearest right one", function()
  local function measure() return { v = 1 } end
  t.raises('did you mean "replicates"?', run, { factors = { x = { 1 } }, replicate = 2,
    measure = measure })
  t.raises("measure is missing", run, { factors = { x = { 1 } } })
  t.raises("factor x has no levels", run, { factors = { x = {} }, measure = measure })
  local r = run { factors = { x = { 1, 2 } }, measure = measure }
  t.raises('no factor "y"', r.compare, r, { factor = "y" })
  t.raises('no metric "w"', r.compare, r, { metric = "w" })
  t.raises('smallest = "2"', r.compare, r, { smallest = "2" })
  t.raises("has no level 9", r.compare, r, { baseline = 9 })
  -- The place named is the script's, not ours.
  for _, wrong in ipairs {
    function() iolua.experiment { name = "x", factors = { x = {} }, measure = measure } end,
    function() iolua.experiment { name = "x", measure = measure } end,
    function() r:compare { factr = "x" } end,
    function() r:compare { within = { y = 1 } } end,
    function() r:plot { x = "y", file = "/nowhere/plot" } end,
    function() r:percentile(101) end,
  } do
    t.contains(select(2, pcall(wrong)), "experiment_test.lua:")
  end
end)

t.case("one run an arm: cannot tell", function()
  local r = run { factors = { x = { 1, 2 } }, measure = function(case) return { v = case.x } end }
  local c = r:compare { smallest = "2%" }
  t.equal(c.arms[1].verdict, "cannot tell")
  t.contains(c.sentence, "nobody can tell")
end)

t.case("a scratch file is full of data, of whole blocks, and has no name", function()
  local f <close>, folder = assert(iolua.scratch.file { size = "1m" })
  t.equal(f:size(), 1 << 20)
  t.equal(type(folder), "string")
  local blocks = t.run(("stat -L -c %%b %s"):format(f:path()))
  t.ok(tonumber(blocks) * 512 >= 1 << 20, "space is allocated")
  local links = t.run(("stat -L -c %%h %s"):format(f:path()))
  t.equal(tonumber(links), 0)
  local g <close> = assert(iolua.open(f:path()))
  local buf <close> = iolua.buffer(1 << 20)
  t.equal(g:read(buf, 0), 1 << 20)
  local _, kinds = buf:string():gsub("%z", "")
  t.ok(kinds < 6000, "a byte in 256 is zero")
  t.equal(assert(iolua.scratch.file { size = 5000 }):size(), 8192)
end)

t.case("a scratch file where none can be made names the folder", function()
  local f, message = iolua.scratch.file { folder = "/nowhere" }
  t.equal(f, nil)
  t.equal(message, "scratch: open /nowhere: No such file or directory")
end)

t.case("a gate voids a row with its reason: it is shown and counts nothing", function()
  local r = run { factors = { x = { 1, 2 } }, replicates = 3, duplicate = false,
    gates = { quiet = function(row) return row.block == 2 and "the lights were on" end },
    measure = function() return { v = 1 }, { punts = 0, ios = 100 } end }
  local _, void = r:lost()
  t.equal(void, 2)
  t.equal(#r:values(1, "v"), 2)
  t.equal(r:summary()[1].note, "void: the lights were on")
end)

t.case("standard gates: punts, bytes, steal; false turns them off", function()
  local gates = require "iolua.experiment.gates"
  local row = { elapsed_ns = 1000000000, drift = { steal_percent = 7.5, throttled = 0 },
                evidence = { punts = 3, ios = 100 } }
  t.equal(gates.judge(gates.of { steal_percent = false }, row),
    "3.0 % of operations were punted to io-wq")
  t.equal(gates.judge(gates.of(), { drift = { steal_percent = 7.5 } }),
    "the hypervisor took 7.5 % of the CPU time")
  -- A run in virtual time is not disturbed by what this machine does.
  t.equal(gates.judge(gates.of(), { drift = { steal_percent = 7.5, throttled = 3 },
    evidence = { simulated = true } }), nil)
  t.equal(gates.judge(gates.of { steal_percent = 10, punts_percent = 5 }, row), nil)
  t.equal(gates.judge(gates.of(false), row), nil)
  t.contains(gates.judge(gates.of(), { evidence = { application_bytes = 1000,
    device_bytes = 100 } }),
    "differ by 90.0 %")
  t.raises('did you mean "steal_percent"?', gates.of, { steal_percnt = 1 })
end)

t.case("a result that is saved and loaded again says the same", function()
  local store = require "iolua.store"
  local dir = t.run("mktemp -d"):match("%S+")
  local r = run { factors = { width = { 1, 2, 4 }, kind = { "a", 'b,"\n' } }, replicates = 3,
    measure = function(case, _, now)
      return { v = case.width + now.seed % 100 / 1000, n = 2^53 | 0 }
    end }
  t.ok(r:save(dir .. "/r"))
  local back = assert(store.load(dir .. "/r"))
  t.same(back:summary(), r:summary())
  t.equal(tostring(back:compare { factor = "width", metric = "v", smallest = "2%" }),
    tostring(r:compare { factor = "width", metric = "v", smallest = "2%" }))
  t.equal(select(2, store.load(dir)),
    ("read %s/manifest.json: No such file or directory"):format(dir))
  local again, message = r:save(dir .. "/r")
  t.equal(again, nil)
  t.contains(message, "holds a result already")
  t.run("rm -rf " .. dir)
end)

t.case("one factor at a time: the baseline and what differs from it in one factor", function()
  local r = run { factors = { a = { 1, 2, 3 }, b = { "x", "y" } }, design = "one at a time",
    measure = function() return { v = 1 } end }
  t.equal(#r.cases, 4)
  t.equal(#r.rows, 5)
end)

t.case("a pilot says how many blocks and minutes a difference needs", function()
  local deviation = { -1, 1, -1, 1, -1, 1 }
  local r = run { factors = { x = { 1, 2 } }, replicates = 6, duplicate = false,
    measure = function(case, _, now)
      return { v = 100 + (case.x == 2 and deviation[now.block] or 0) }
    end }
  local pilot = r:pilot { smallest = "2%" }
  -- The sd of {-1, 1, ...} is 1.0954; a difference of 2 then needs five pairs (t test, 80 %).
  t.near(pilot.sd, 1.0954451150103321, 1e-12)
  t.equal(pilot.replicates, 5)
  t.contains(pilot.text, "v: to see a difference of 2 % takes 5 blocks")
end)

t.case("drift with the order and outliers are told, and nothing is dropped", function()
  local checks = require "iolua.experiment.checks"
  local r = run { factors = { x = { 1, 2 } }, replicates = 10,
    measure = function(case, _, now)
      return { v = case.x * 100 * (1 + now.run / 1000) + (now.run == 12 and 50 or 0) }
    end }
  t.equal(#r:values(1, "v"), 10)
  t.equal(#checks.outliers(r, "v"), 1)
  t.equal(checks.outliers(r, "v")[1].run, 12)
  t.contains(table.concat(checks.remarks(r), " "), "1 outlier, counted like the others: run 12")
  local steady = run { factors = { x = { 1, 2 } }, replicates = 10,
    measure = function(case, _, now) return { v = case.x * (1 + now.run / 1000) } end }
  -- 30 runs that grow by 0.1 % of the first each: 2.9 % of it, 2.86 % of their mean.
  t.contains(table.concat(checks.remarks(steady), " "), "drifts with the order of the runs: +2.86")
end)

t.case("a result of simulated devices says so wherever it goes", function()
  local device = iolua.sim.device { size = "1g", channels = 1, service = "1ms" }
  local r = run { factors = { depth = { 1, 2 } }, measure = function(case)
    local j = assert(iolua.job { target = device, rw = "randread", bs = "4k",
                                 iodepth = case.depth, runtime = "1s" })
    return { iops = j.read.iops }, iolua.experiment.evidence(j)
  end }
  t.contains(require("iolua.report.summary").text(r), "simulated devices: times are virtual")
  t.equal(require("iolua.store").document(r).simulated, true)
end)

t.done()
