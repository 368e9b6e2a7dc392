-- Locality against the published table of 2008 and against what its author and Linux say.
local t = require "check"
local locality = require "iolua.locality"

local function rows_of_2008()
  local rows = {}
  for line in io.lines("tests/data/affinity-2008.csv") do
    local f = {}
    for field in (line .. ","):gmatch("([^,]*),") do f[#f + 1] = field end
    if f[2] ~= "" and tonumber(f[4]) then       -- neither the heading nor the rows without a label
      rows[#rows + 1] = { label = f[1] .. f[2] .. f[3], q_local = tonumber(f[7]),
        q_remote = tonumber(f[8]), c_local = tonumber(f[9]), c_remote = tonumber(f[10]) }
    end
  end
  return rows
end

t.case("all 18 rows of 2008 agree with their labels", function()
  local rows = rows_of_2008()
  t.equal(#rows, 18)
  for _, row in ipairs(rows) do
    local agrees, why = locality.check(row.label, row, 0)
    t.ok(agrees, row.label .. ": " .. tostring(why))
  end
end)

t.case("a row under another row's label is told apart wherever the two differ", function()
  local rows = rows_of_2008()
  for _, row in ipairs(rows) do
    for _, other in ipairs(rows) do
      local q, c = locality.expected(row.label)
      local oq, oc = locality.expected(other.label)
      t.equal((locality.check(other.label, row)), q == oq and c == oc)
    end
  end
end)

t.case("a contradiction says which letter and how much", function()
  local agrees, why = locality.check("X A I", { q_local = 900, q_remote = 100,
    c_local = 1000, c_remote = 0 })
  t.equal(agrees, false)
  t.equal(why, "Q should be local, but 10 % were remote")
  agrees, why = locality.check("XAI", { q_local = 0, q_remote = 5, c_local = 0, c_remote = 5 })
  t.equal(agrees, false)
  t.equal(why, "Q should be local, but 100 % were remote; " ..
    "C should be local, but 100 % were remote")
end)

t.case("a few events elsewhere are let through, no events are not", function()
  t.ok(locality.check("XAI", { q_local = 995, q_remote = 5, c_local = 1, c_remote = 0 }))
  t.equal((locality.check("XAI", { q_local = 98, q_remote = 2 })), false)
  local agrees, why = locality.check("XAI", { q_local = 0, q_remote = 0 })
  t.equal(agrees, false)
  t.equal(why, "Q: no event was counted")
end)

t.case("what was not counted is not judged", function()
  t.ok(locality.check("XAI", { q_local = 10, q_remote = 0 }))
end)

t.case("the 18 rows are 13 configurations", function()
  local seen, n = {}, 0
  for _, row in ipairs(rows_of_2008()) do
    local name = locality.configuration(row.label)
    if not seen[name] then n = n + 1 end
    seen[name] = true
  end
  t.equal(n, 13)
end)

t.case("ten rows can be made today, as six configurations, with the right rq_affinity", function()
  local made, configurations, n = {}, {}, 0
  for _, row in ipairs(rows_of_2008()) do
    local rq, why = locality.possible(row.label)
    if rq then
      made[row.label] = rq
      n = n + 1
      configurations[locality.configuration(row.label)] = true
    else
      t.ok(type(why) == "string", "a reason")
    end
  end
  t.equal(n, 10)
  local count = 0
  for _ in pairs(configurations) do count = count + 1 end
  t.equal(count, 6)
  t.same(made, { XXI = 0, XAA = 2, XAI = 0, XII = 0, IXA = 0, IXI = 0, IAA = 0, IAI = 0,
    IIA = 0, III = 0 })
end)

t.case("counts by CPU become local and remote, in both readings", function()
  -- Submitted on 3, interrupt on 1, completions steered to 3 but for a few.
  local n = { queue = { [0] = 0, [1] = 4, [2] = 0, [3] = 96 },
              complete = { [0] = 0, [1] = 10, [2] = 0, [3] = 80 } }
  t.same(locality.of(n, { submitter = 3, irq = 1 }), { q_local = 96, q_remote = 4,
    c_local = 10, c_remote = 80, c_local_submitter = 80, c_remote_submitter = 10 })
end)

t.case("without an interrupt there is no local by it; without requests bios count", function()
  local n = { queue = { [0] = 5 }, complete = { [0] = 0 }, bio_complete = { [0] = 2, [1] = 3 } }
  t.same(locality.of(n, { submitter = 0 }), { q_local = 5, q_remote = 0,
    c_local_submitter = 2, c_remote_submitter = 3 })
end)

t.case("means are over the rows that have a value", function()
  local mean = locality.mean { { q_local = 1, c_local = 4 }, { q_local = 3 } }
  t.equal(mean.q_local, 2)
  t.equal(mean.c_local, 4)
end)

t.case("a label that is none is refused", function()
  t.raises('label "AXI" is not A Q C', locality.expected, "AXI")
  t.raises("is not A Q C", locality.check, "rq=0", {})
end)

t.done()
