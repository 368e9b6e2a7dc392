-- All kinds of damage by hand, to files, devices and volumes, found by jobs and by fibers.
local core = require "iolua.core"
local damage = require "damage"
local iolua = require "iolua"
local t = require "check"

core.run.mark_errors = function() end    -- damage is made on purpose

local function scratch(bytes, direct)
  local f = assert(core.file.scratch("/tmp", direct or false))
  assert(f:truncate(bytes))
  return f
end

local function volume(kind)
  return function(keep)
    local members = { keep(scratch(1 << 20)), keep(scratch(1 << 20)) }
    return assert(iolua.volume[kind] { members = members, chunk = kind == "stripe" and 4096 or nil,
      backend = "user" })
  end
end

local TARGETS = {
  { "a file", function() return scratch(1 << 20) end },
  { "a file, direct", function() return scratch(1 << 20, true) end },
  { "a device", function(keep)
    local loop, message = core.disk.loop(keep(scratch(1 << 20)))
    if not loop then t.skip("no loop device: " .. message) end
    keep(loop)
    return assert(iolua.open(loop:path(), { write = true }))
  end },
  { "a stripe", volume "stripe" }, { "a mirror", volume "mirror" },
  { "a concatenation", volume "concat" },
}

for _, case in ipairs(TARGETS) do
  for _, by in ipairs { "by_jobs", "by_fibers" } do
    t.case(("damage to %s is found %s"):format(case[1], (by:gsub("_", " "))), function()
      local kept = setmetatable({}, { __close = function(list)
        for i = #list, 1, -1 do list[i]:close() end
      end })
      local list <close> = kept
      local target <close> = case[2](function(object)
        list[#list + 1] = object
        return object
      end)
      t.same(damage[by](target), damage.EXPECTED)
    end)
  end
end

-- A stripe of 4 KiB over two simulated disks; the second, which has every second block, does harm
-- to its third write (block 5 of the volume) or to its eleventh (the same, the second time).
local function harmed(corruption, ios)
  local function disk(name, corruptions)
    return iolua.sim.device { name = name, size = "32k", data = true, service = "exp:100us",
      corruptions = corruptions }
  end
  local v <close> = assert(iolua.volume.stripe { members = { disk("a"), disk("b", { corruption }) },
    chunk = 4096 })
  local function job(rw, more)
    local o = { target = v, rw = rw, bs = 4096, iodepth = 2, verify = true, seed = 7,
      continue_on_error = true }
    for key, value in pairs(more or {}) do o[key] = value end
    return assert(iolua.job(o)).verify.damage
  end
  return job("write", { number_ios = ios }), job("read")
end

local AT = 5 * 4096

for _, case in ipairs {
  { { write = 3, kind = "flip", byte = 1000 }, 16, "flip", AT + 1000 },
  { { write = 3, kind = "torn", byte = 1024 }, 16, "torn", AT + 1024 },
  { { write = 3, kind = "lost" }, 16, "lost", AT },
  { { write = 11, kind = "lost" }, 32, "stale", AT },
} do
  t.case("a simulated leg's damage has the volume's offset: " .. case[3], function()
    local list = harmed(case[1], case[2])
    t.equal(#list, 1)
    t.equal(list[1].kind, case[3])
    t.equal(list[1].offset, case[4])
  end)
end

t.case("a simulated leg's damage has the volume's offset: misplaced", function()
  local list, later = harmed({ write = 3, kind = "misplaced", byte = 16384 }, 8)
  t.equal(#list, 1)
  t.equal(list[1].kind, "lost")
  t.equal(list[1].offset, AT)
  t.equal(#later, 1)
  t.equal(later[1].kind, "misplaced")
  t.equal(later[1].offset, 13 * 4096)
  t.equal(later[1].found, AT)
end)

t.done()
