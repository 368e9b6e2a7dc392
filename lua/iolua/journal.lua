--- What must be undone: recorded before a change is made, undone on every way out.
--
-- A record has a kind, a target and the target's old value. It is on disk before the change is
-- made (core/journal.h), in a file of this run; a run that was killed has left its file, and the
-- next one that starts undoes it. Undoing goes backwards, and leaves alone what somebody else
-- has changed meanwhile.
--
-- A kind is undone by the module KINDS names for it, whose table `undo` has for the kind:
--   look(record)   "ours": undo it; "same": it is as it was; "gone": there is nothing left;
--                  "foreign", value: somebody else changed it
--   undo(record)   true, or nil and why not
--   check(record)  true when it is as it was (optional; asked when all has been undone)
-- `record.now` is the value we gave it last, nil when the run was killed during a change.
local core = require "iolua.core"

local journal = {}

local EBUSY = 16

local KINDS = {
  attr = "iolua.attr",          -- a text file of the kernel; target: path
  tunable = "iolua.attr",       -- the same, which comes and goes with the I/O scheduler
  dm = "iolua.dm.undo",         -- a volume that was made; target: its path, old: its UUID
  zram = "iolua.scratch.zram",  -- a disk in memory; target: its path, old: its number
  blkio = "iolua.scratch.throttle", -- a device's limit in a cgroup of version 1
  irq = "iolua.settings.irq",   -- affinity of an interrupt; target: "NUMBER NAME"
  iomax = "iolua.settings.cgroup", -- a device's line in io.max; target: "PATH MAJOR:MINOR"
  mount = "iolua.scratch.mount", -- a filesystem of ours that was mounted; target: where
  memory = "iolua.memory",      -- a control group that was made; target: its folder, old: ours
  subtree = "iolua.memory",     -- a controller switched on; target: cgroup.subtree_control
  action = "iolua.journal.action", -- done to the machine, without undo; target: what
}

local own                       -- the journal of this state, nil before the first record

--- Name the module that undoes a kind. Also after a kill: so from a module that is part of
--- iolua, here in KINDS; a script's own kinds are undone by this run only.
---@param kind string
---@param module string
function journal.register(kind, module)
  KINDS[kind] = module
end

local function undoer(kind)
  local module = KINDS[kind]
  local loaded, value = pcall(require, module or "")
  return loaded and type(value) == "table" and value.undo and value.undo[kind] or nil
end

--- The folder of this user's journals: /run/iolua for root, else under $XDG_RUNTIME_DIR or
--- /tmp. The environment variable IOLUA_STATE names another.
---@return string? path
---@return string? message
---@return integer? errno
function journal.folder()
  return core.journal.folder(os.getenv("IOLUA_STATE"))
end

local function names(folder)
  local found = {}
  for _, name in ipairs(core.attr.list(folder) or {}) do
    if name:find("%.journal$") then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

--- This state's journal, opened at the first call; what dead runs left is undone before.
local function open()
  if own then return own end
  local folder, message, errno = journal.folder()
  if not folder then return nil, message, errno end
  journal.recover()
  own, message, errno = core.journal.new(folder)
  return own, message, errno
end

--- Record what is about to be changed, all or nothing. Returns the id of the first; the others
--- follow it.
---@param records { kind: string, target: string, old: string }[]
---@return integer? id
---@return string? message  "TARGET is held by pid N"
---@return integer? errno
function journal.add(records)
  for _, record in ipairs(records) do
    if not KINDS[record.kind] then
      error(("journal: nothing undoes the kind %q"):format(tostring(record.kind)), 2)
    end
  end
  local j, message, errno = open()
  if not j then return nil, message, errno end
  return j:add(records)
end

--- Say what became of records: { id =, now = value } changed, { id = } about to be changed,
--- { id =, done = true } undone.
---@param notes { id: integer, now: string?, done: boolean? }[]
---@return boolean?
---@return string? message
---@return integer? errno
function journal.note(notes)
  if #notes == 0 or not own then return true end        -- all has been undone already
  return own:note(notes)
end

--- Pids of the other runs of this user that live and have changed something.
---@return integer[]
function journal.others()
  local folder = journal.folder()
  local own_pid = math.tointeger(tonumber(core.attr.read("/proc/self/stat"):match("^%d+")))
  local pids = {}
  for _, name in ipairs(folder and names(folder) or {}) do
    local j, _, _, pid = core.journal.load(folder, name)
    if j then
      j:close()                 -- of a dead run: it is undone at our first record
    elseif pid and pid ~= own_pid and pid > 0 then
      pids[#pids + 1] = pid
    end
  end
  return pids
end

--- Do to the whole machine what cannot be undone: recorded while it is done, and refused while
--- another run of this user is under way with anything changed.
---@param target string  what is acted on: a path
---@param fn function    true, or nil, message, errno
---@return any
---@return string? message  "TARGET: run N is under way ..."
---@return integer? errno
function journal.action(target, fn)
  local others = journal.others()
  if #others > 0 then
    return nil, ("%s: run %d is under way and would be disturbed"):format(target, others[1]),
      EBUSY
  end
  local id, message, errno = journal.add { { kind = "action", target = target, old = "" } }
  if not id then return nil, message, errno end
  local result = table.pack(fn())
  journal.note { { id = id, done = true } }
  return table.unpack(result, 1, result.n)
end

--- The record of a target that this run holds, or nil.
---@param target string
---@return { id: integer, kind: string, target: string, old: string, now: string? }?
function journal.find(target)
  return own and own:find(target)
end

-- What happened to the records of a journal while they were undone.
local function new_report()
  return { restored = 0, gone = 0, notes = {}, problems = {} }
end

local function say(list, ...)
  list[#list + 1] = string.format(...)
end

-- Which records are to be undone now, and what somebody else has changed, which is to stay.
-- What is not ours any more is noted as done.
local function sort_out(records, report)
  local todo, notes, foreign = {}, {}, {}
  for _, record in ipairs(records) do
    local handler = undoer(record.kind)
    if not handler then
      say(report.problems, "%s: nothing here undoes the kind %q", record.target, record.kind)
    else
      local state, value = handler.look(record)
      if state == "foreign" then
        say(report.problems, "%s: somebody else changed it to %q meanwhile, left (it was %q)",
          record.target, value, record.old)
        foreign[#foreign + 1] = { handler = handler,
          record = { kind = record.kind, target = record.target, old = value } }
      elseif state == "gone" then       -- a volume that was closed: nothing is left changed
        report.gone = report.gone + 1
      else
        todo[#todo + 1] = { record = record, handler = handler, same = state == "same" }
      end
      notes[#notes + 1] = { id = record.id,
        done = (state == "foreign" or state == "gone") or nil }
    end
  end
  return todo, notes, foreign
end

local function as_it_was(item)
  local check = item.handler.check
  return not check or check(item.record)
end

-- Undo backwards. Twice: one attribute's restore may change another.
local function undo_items(todo)
  for _ = 1, 2 do
    local again = false
    for i = #todo, 1, -1 do
      local item = todo[i]
      item.ok, item.why = true, nil
      if not item.same or item.handler.check then
        item.ok, item.why = item.handler.undo(item.record)
      end
    end
    for _, item in ipairs(todo) do
      if item.ok and not as_it_was(item) then
        item.ok, item.why, again = nil, "it took another value", true
      end
    end
    if not again then break end
  end
end

-- Undo those records of journal j. Returns the report.
local function undo_records(j, records)
  local report = new_report()
  local todo, notes, foreign = sort_out(records, report)
  if #notes > 0 then
    local noted, message = j:note(notes)        -- from here a kill leaves "under way"
    if not noted then say(report.notes, "%s", message) end
  end
  undo_items(todo)
  undo_items(foreign)           -- our undoing may have changed them
  local done = {}
  for _, item in ipairs(todo) do
    if item.ok then
      done[#done + 1] = { id = item.record.id, done = true }
      if not item.same then report.restored = report.restored + 1 end
    else
      say(report.problems, "%s could not be put back to %q: %s", item.record.target,
        item.record.old, item.why)
    end
  end
  if #done > 0 then j:note(done) end
  return report
end

local function of_kinds(records, kinds, within)
  if not kinds then return records end
  local chosen = {}
  for _, record in ipairs(records) do
    if kinds[record.kind] and (not within or record.target:find(within, 1, true)) then
      chosen[#chosen + 1] = record
    end
  end
  return chosen
end

--- Undo what this run changed: all of it, or the records of some kinds. What fails is in the
--- report, stays in the journal, and ends the run with status 4.
---@param kinds? { [string]: boolean }
---@param within? string  with kinds: only targets that contain this text
---@return { restored: integer, gone: integer, notes: string[], problems: string[] } report
function journal.restore(kinds, within)
  local j = own
  if not j then return new_report() end
  local report = undo_records(j, of_kinds(j:records(), kinds, within))
  if not kinds or #j:records() == 0 then
    own = nil
    j:close()
  end
  if #report.problems > 0 and core.run then core.run.mark_unrestored() end
  return report
end

-- Drop the records of an earlier boot: what they speak of is gone.
local function forget(j, owner, report)
  local done = {}
  for _, record in ipairs(j:records()) do done[#done + 1] = { id = record.id, done = true } end
  if #done > 0 then j:note(done) end
  say(report.notes, "dropped %d records of pid %d: they are of an earlier boot", #done,
    owner.pid)
end

local function merge(into, from, pid)
  into.restored = into.restored + from.restored
  into.gone = into.gone + from.gone
  for _, text in ipairs(from.notes) do say(into.notes, "%s", text) end
  for _, text in ipairs(from.problems) do say(into.problems, "%s", text) end
  if from.restored > 0 then
    say(into.notes, "put back %d values that run %d, which was killed, had changed",
      from.restored, pid)
  end
end

local function recover_one(folder, name, report)
  local j = core.journal.load(folder, name)     -- nil: its run lives, or it is gone
  if not j then return end
  local owner = j:owner()
  if owner.current then
    merge(report, undo_records(j, j:records()), owner.pid)
  else
    forget(j, owner, report)
  end
  j:close()
end

--- Undo what runs that were killed have left. Called when iolua starts, before the first
--- change, and by `iolua --restore`.
---@return { restored: integer, gone: integer, notes: string[], problems: string[] } report
function journal.recover()
  local report = new_report()
  local folder = journal.folder()
  if not folder then return report end
  for _, name in ipairs(names(folder)) do recover_one(folder, name, report) end
  if #report.problems > 0 and core.run then core.run.mark_unrestored() end
  return report
end

--- The lines of a report, for whoever prints: main, the REPL.
---@param report { notes: string[], problems: string[] }
---@return string[]
function journal.lines(report)
  local lines = {}
  for _, text in ipairs(report.notes) do lines[#lines + 1] = text end
  for _, text in ipairs(report.problems) do lines[#lines + 1] = text end
  return lines
end

return journal
