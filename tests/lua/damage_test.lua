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

t.done()
