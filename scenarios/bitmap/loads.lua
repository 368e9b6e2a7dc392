--- The programs of 2009 on a RAID's filesystem: dbench, bonnie++, tiotest; ours where theirs are not.
--
-- Each gives bytes a second of what the writer of 2009 quoted: dbench's throughput, bonnie's block
-- write, tiotest's random write. They run one after the other on one ext4, made for them.
local core = require "iolua.core"
local iolua = require "iolua"
local mounted = require "iolua.run.mounted"

local loads = {}

-- That it ran, and the rate in what it printed, by its reader: nil where the program says that it
-- was too short for one.
local function told(r, message, read, pick)
  if not r then return nil, message end
  local result, why = read(r.out)
  if not result then return nil, why end
  return true, pick(result)
end

local function dbench(path, o)
  local r, message = mounted.run(path, { "dbench", "-t", o.seconds, o.clients, timeout = "60s" })
  return told(r, message, iolua.program.dbench.read, function(d) return d.bytes_per_s end)
end

local function block_write(b)
  return b.block_write and b.block_write.bytes_per_s
end

local function bonnie_theirs(path, o)
  local r, message = mounted.run(path, { "bonnie++", "-u", "root", "-f", "-q", "-s",
    o.data >> 20, "-r", 0, "-n", 0, timeout = "60s" })
  return told(r, message, iolua.program.bonnie.read, block_write)
end

local OURS = {
  bonnie = [[
local iolua = require "iolua"
local r = assert(iolua.workload.bonnie { size = %d, seeks = 200, min_seconds = 0 })
io.write(iolua.workload.bonnie.text(r))]],
  tiotest = [[
local iolua = require "iolua"
local r = assert(iolua.workload.tiotest { size = %d, threads = %d, random_ops = 100 })
io.write(iolua.workload.tiotest.text(r))]],
}

local function bonnie_ours(path, o)
  local r, message = mounted.iolua(path, OURS.bonnie:format(o.data), { timeout = "60s" })
  return told(r, message, iolua.program.bonnie.read, block_write)
end

local function tiotest(path, o)
  local each = o.data // o.clients // 65536 * 65536
  local r, message = mounted.iolua(path, OURS.tiotest:format(each, o.clients), { timeout = "60s" })
  return told(r, message, iolua.program.tiotest.read, function(t) return t.random_write.bytes_per_s end)
end

local KNOWN = {
  dbench = { theirs = dbench },
  bonnie = { program = "bonnie++", theirs = bonnie_theirs, ours = bonnie_ours },
  tiotest = { ours = tiotest },         -- Debian has none
}
local ORDER = { "dbench", "bonnie", "tiotest" }

-- What runs for a name: { name, run, note }; or nil and why nothing.
local function found(name)
  local known = KNOWN[name]
  local program = known.program or name
  if known.theirs and core.spawn.which(program) then return { name = name, run = known.theirs } end
  local why = require("iolua.run.packages").missing(program)
  if not known.ours then return nil, why end
  return { name = name, run = known.ours, note = "by iolua's own (" .. why .. ")" }
end

--- The loads of these names, or all that are to be had, and sentences about those that are not.
---@param names string[]?
---@return { name: string, run: function, note: string? }[]? list
---@return string[]|string missing  or the message where a name is none
function loads.choose(names)
  local list, missing = {}, {}
  for _, name in ipairs(names or ORDER) do
    if name ~= "none" and not KNOWN[name] then
      return nil, ("loads: %q is none of %s, none"):format(name, table.concat(ORDER, ", "))
    end
    local load, why
    if name ~= "none" then load, why = found(name) end
    list[#list + 1], missing[#missing + 1] = load, why
  end
  return list, missing
end

--- Run them on a volume, and add to values: NAME_MB_per_s and NAME_bitmap.
---@param list table
---@param volume table    of iolua.volume.raid
---@param values table
---@param o table         seconds, clients, data
---@param counted fun(): fun(): integer  from when; then bitmap writes since
---@return boolean? ok
---@return string? message
---@async
function loads.measure(list, volume, values, o, counted)
  if #list == 0 then return true end
  if volume.file then                   -- a mounted device is no one else's
    volume.file:close()
    volume.file = nil
  end
  local ok, message = mounted.format(volume.path, { destroy = volume.path })
  if not ok then return nil, message end
  for _, load in ipairs(list) do
    local since = counted()
    local ran, rate = load.run(volume.path, o)
    if not ran then return nil, ("%s: %s"):format(load.name, rate) end
    values[load.name .. "_bitmap"] = since()
    values[load.name .. "_MB_per_s"] = rate and rate / 1e6
  end
  return true
end

return loads
