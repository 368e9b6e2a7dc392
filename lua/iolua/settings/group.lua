--- Attributes that change one another: recorded together, changed, read back, compared.
--
-- Writing one attribute of a queue may change others (the scheduler resets nr_requests,
-- max_sectors_kb changes read_ahead_kb): so all of a group are recorded before the first is
-- written, and what each became is noted after every change. Undoing goes backwards: what must
-- be put back last is first in the group.
local attr = require "iolua.attr"
local journal = require "iolua.journal"

local group = {}

local held = {}                 -- name -> members that are in the journal

-- The members that exist, with their values.
local function present(members)
  local found = {}
  for _, member in ipairs(members) do
    local value = attr.read(member.target)
    if value then
      found[#found + 1] = { kind = member.kind or "attr", target = member.target, old = value }
    end
  end
  return found
end

-- Record a group once. Returns its members with ids.
local function hold(name, members)
  local known = held[name]
  if known and #known > 0 and journal.find(known[1].target) then return known end
  local records = present(members)
  if #records == 0 then return {} end
  local id, message, errno = journal.add(records)
  if not id then return nil, ("%s: %s"):format(name, message), errno end
  for i, record in ipairs(records) do record.id = id + i - 1 end
  held[name] = records
  return records
end

local function snapshot(records)
  local values = {}
  for _, record in ipairs(records) do values[record.target] = attr.read(record.target) end
  return values
end

local function note_open(records)
  local notes = {}
  for i, record in ipairs(records) do notes[i] = { id = record.id } end
  return journal.note(notes)
end

-- Is the scheduler the one the tunables belong to?
local function scheduler_kept(records, values)
  for _, record in ipairs(records) do
    if record.target:find("/scheduler$") then return values[record.target] == record.old end
  end
  return true
end

local function note_values(records)
  local values, notes = snapshot(records), {}
  local kept = scheduler_kept(records, values)
  for i, record in ipairs(records) do
    local known = record.kind ~= "tunable" or kept
    notes[i] = { id = record.id, now = known and values[record.target] or nil }
  end
  return journal.note(notes)
end

-- Back to what it was before this call, as far as it goes.
local function roll_back(records, values)
  for _ = 1, 2 do
    for i = #records, 1, -1 do
      local target = records[i].target
      local value = values[target]
      if value and attr.read(target) ~= value then attr.write(target, value) end
    end
  end
end

local function same_value(asked, took)
  if took == asked then return true end
  return nil, ("%s asked, but it is %s: the kernel accepts the value and ignores it"):format(
    asked, tostring(took))
end

-- Write one value and compare. Returns what took and what is to be said about it.
local function write_one(change)
  local before = attr.read(change.target)
  if before ~= change.text then
    local written, message, errno = attr.write(change.target, change.text)
    if not written then
      if change.refused then message = change.refused(message, errno) end
      return nil, message, errno
    end
  end
  local took, unread, errno = attr.read(change.target)
  if not took then return nil, unread, errno end
  local fine, said = (change.compare or same_value)(change.text, took)
  if not fine then return nil, ("%s: %s"):format(change.name, said), 22 end
  return took, said and ("%s: %s"):format(change.name, said)
end

--- Make changes of one group, all or none.
---@param name string  of the group, for messages
---@param members { target: string, kind: string? }[]  every attribute that may change; what is
---  to be put back last comes first
---@param changes { name: string, target: string, text: string, compare: function?,
---  refused: function? }[]  in the order they are to be made
---@return table? taken  name -> text that took
---@return string[]|string notes  what is to be known about it, or the message
---@return integer? errno
function group.change(name, members, changes)
  local records, message, errno = hold(name, members)
  if not records then return nil, message, errno end
  local before = snapshot(records)
  local noted, unnoted, number = note_open(records)
  if not noted then return nil, unnoted, number end
  local taken, notes = {}, {}
  for _, change in ipairs(changes) do
    local took, said, failed = write_one(change)
    if not took then
      roll_back(records, before)
      note_values(records)
      return nil, said, failed
    end
    taken[change.name] = took
    notes[#notes + 1] = said
  end
  note_values(records)
  return taken, notes
end

return group
