-- Question: what is this machine made of, and which CPUs are near each disk?
-- Needs:    nothing; nothing is written or measured.   Takes: a moment.
-- Shows:    packages, nodes, caches, cores as a tree; a row per disk: its controller, node, the
--           CPUs near it, and a far one for comparison.
local iolua = require "iolua"

local opt = iolua.options {
  "What is this machine made of, and which CPUs are near each disk?",
  synthetic = { type = "string", help = "a described machine, such as \"pack:2 core:4 pu:2\"" },
  xml = { type = "path", help = "a machine that lstopo (hwloc 2) wrote to a file" },
}

local topo = assert(iolua.topo { synthetic = opt.synthetic, xml = opt.xml })
print(topo:tree())

-- The CPU farthest from all that are near, of those a script may use.
local function far(near)
  local first, away = near:first(), topo:allowed() - near
  if not first then return "-" end
  if #away == 0 then return "none" end
  local cpu = topo:farthest(first, away)
  return ("%d (%s)"):format(cpu, topo:relation(first, cpu))
end

local rows = { { "disk", "controller", "node", "near CPUs", "far CPU" } }
for _, disk in ipairs(assert(topo:disks())) do
  rows[#rows + 1] = { disk.name, disk.controller or "-", disk.node and tostring(disk.node) or "-",
    disk.tied == false and "all alike" or tostring(disk.cpus),
    disk.tied == false and "none" or far(disk.cpus) }
end
if #rows == 1 then return end

local width = {}
for _, row in ipairs(rows) do
  for i, text in ipairs(row) do width[i] = math.max(width[i] or 0, #text) end
end
print()
for _, row in ipairs(rows) do
  for i, text in ipairs(row) do row[i] = text .. (" "):rep(width[i] - #text) end
  print((table.concat(row, "  "):gsub(" +$", "")))
end
