-- The knobs: rq_affinity of the targets' disks and where their interrupt goes. Turned through
-- iolua.settings, which puts them back on every way out; only where that was asked for.
local iolua = require "iolua"
local core = require "iolua.core"

local control = {}
control.__index = control

local function path_of(target)
  return type(target) == "string" and target or target:path()
end

-- Why a disk must not or cannot be changed; nil where it can be.
local function refusal(target, disk, set)
  if set == false then return "--no-set was given" end
  if set == nil and (type(target) == "string" or target:type() ~= "block") then
    return "the disk under a file is changed with --set only"
  end
  local path = disk.disk_sys .. "/queue/rq_affinity"
  local file, message = io.open(path, "r+")     -- nothing is written here
  if not file then
    return ("rq_affinity of %s cannot be set: %s"):format(disk.disk,
      (message:gsub("^.*: ", "")))
  end
  file:close()
end

local function rq_of(disk)
  return tonumber((core.attr.read(disk.disk_sys .. "/queue/rq_affinity")))
end

--- What may be turned.
---@param targets table[]|string[]  open files, or paths of what will be opened
---@param set? boolean  of --set: nil leaves it to what the targets are
---@return table control  { may, why, disks = { { disk, target } }, rq, rq_why }
function control.new(targets, set)
  local self = setmetatable({ disks = {}, may = #targets > 0 }, control)
  local seen = {}
  for _, target in ipairs(targets) do
    local disk, message
    if type(target) == "table" then message = "a simulated device has no queue to set"
    else disk, message = core.blk.find(target) end
    if not disk then
      self.may, self.why, self.rq_why = false, message, message
      return self
    end
    if not seen[disk.disk_dev] then
      seen[disk.disk_dev] = true
      self.disks[#self.disks + 1] = { disk = disk, target = path_of(target), rq = rq_of(disk) }
      self.why = self.why or refusal(target, disk, set)
    end
  end
  self.may = self.may and self.why == nil
  local first = self.disks[1]
  self.rq = first and first.rq
  for _, each in ipairs(self.disks) do
    if each.rq ~= self.rq then self.rq, self.rq_why = nil, "the disks differ" end
  end
  if first and not self.rq then
    self.rq_why = self.rq_why or first.disk.disk .. " has no rq_affinity"
  end
  return self
end

--- Names of the disks: "vdb, vdc".
function control:names()
  local names = {}
  for i, each in ipairs(self.disks) do names[i] = each.disk.disk end
  return table.concat(names, ", ")
end

-- The vectors that would have to be moved so that all I/O interrupts `cpu` alone.
local function elsewhere(each, cpu)
  local found, list = iolua.settings.irq(each.target), {}
  for _, v in ipairs(found and found.vectors or {}) do
    if v.io and not (v.cpus and #v.cpus == 1 and v.cpus[1] == cpu) then list[#list + 1] = v end
  end
  return list
end

--- Hold the interrupts of the disks on one CPU; those the kernel keeps stay.
---@param cpu integer
---@return string? why  not all were moved
function control:hold_interrupts(cpu)
  for _, each in ipairs(self.disks) do
    if #elsewhere(each, cpu) > 0 then
      local moved, message = iolua.settings.irq(each.target, { cpus = cpu })
      if not moved then return message end
      self.moved = true
    end
  end
end

--- Set rq_affinity for a row; nil: leave it. Written only where it differs.
---@param value integer?
---@return boolean? ok
---@return string? message
function control:apply(value)
  for _, each in ipairs(self.disks) do
    if value and rq_of(each.disk) ~= value then
      local taken, message = iolua.settings.set(each.target, { rq_affinity = value })
      if not taken then return nil, message end
    end
  end
  return true
end

--- After a run: what somebody changed meanwhile, or nil.
---@param value integer?  as of apply
---@return string?
function control:changed(value)
  for _, each in ipairs(self.disks) do
    local now = rq_of(each.disk)
    if now ~= (value or each.rq) then
      return ("rq_affinity of %s was %s, now %s"):format(each.disk.disk,
        tostring(value or each.rq), tostring(now))
    end
  end
end

--- For --plan: what a row sets outside the process.
---@param value integer?
---@return string[]
function control:plan(value)
  local lines = {}
  for i, each in ipairs(value and self.disks or {}) do
    lines[i] = ("rq_affinity of %s = %d (found %s)"):format(each.disk.disk, value,
      tostring(each.rq))
  end
  return lines
end

--- For --plan: which interrupts would be held on a CPU.
---@param cpu integer
---@return string[]
function control:plan_interrupts(cpu)
  local lines = {}
  for _, each in ipairs(self.disks) do
    for _, v in ipairs(elsewhere(each, cpu)) do
      lines[#lines + 1] = ("interrupt %d %s of %s held on CPU %d (may go to CPU %s now)")
        :format(v.irq, v.name, each.disk.disk, cpu, tostring(iolua.cpuset(v.cpus or {})))
    end
  end
  return lines
end

return control
