--- Text files of the kernel: sysfs, procfs, cgroups. Their values, and how they are put back.
local core = require "iolua.core"

local attr = { undo = {} }

local ENOENT, ENODEV = 2, 19

--- The value in a file's text: the word in brackets where it lists all there are
--- ("[none] mq-deadline").
---@param text string
---@return string
function attr.value(text)
  return text:match("%[([^%]]+)%]") or text
end

--- The words a file offers: "none [mq-deadline]" offers both.
---@param text string
---@return string[]
function attr.choices(text)
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word:match("^%[(.+)%]$") or word end
  return words
end

--- The value now.
---@param path string
---@return string? value
---@return string? message
---@return integer? errno
function attr.read(path)
  local text, message, errno = core.attr.read(path)
  if not text then return nil, message, errno end
  return attr.value(text)
end

--- Write a value, which the kernel may take differently: read it back.
---@param path string
---@param value string
---@return boolean?
---@return string? message
---@return integer? errno
function attr.write(path, value)
  return core.attr.write(path, value)
end

local function natural(a, b)
  local function key(name)
    return (name:gsub("%d+", function(digits) return ("%012d"):format(tonumber(digits)) end))
  end
  return key(a) < key(b)
end

--- The names in a folder, sorted so that loop2 comes before loop10; empty when there is none.
---@param folder string
---@return string[]
function attr.list(folder)
  local names = core.attr.list(folder) or {}
  table.sort(names, natural)
  return names
end

-- Linux 6.1 resets the write_cache of a loop device that is detached, and takes no other value.
local function detached(path)
  local loop = path:match("^(.*/loop%d+)/queue/write_cache$")
  return loop and core.attr.read(loop .. "/loop/backing_file") == nil
end

local function look(record, gone)
  local value, _, errno = attr.read(record.target)
  if not value then
    return (errno == ENOENT or errno == ENODEV) and gone or "ours"
  end
  if value == record.old then return "same" end
  if detached(record.target) then return "gone" end
  if record.now == nil or value == record.now then return "ours" end
  return "foreign", value
end

-- vm.dirty_bytes and vm.dirty_background_bytes are 0 while the ratio rules, and take no 0.
local function implied(record)
  return record.old == "0" and record.target:find("/dirty_[%a_]*bytes$")
end

local function put_back(record)
  if attr.read(record.target) == record.old or implied(record) then return true end
  return attr.write(record.target, record.old)
end

local function as_it_was(record)
  return attr.read(record.target) == record.old
end

-- A scheduler's own values are there again once the scheduler is: records are added with the
-- scheduler last, so that it is put back first. And a disk of ours may have gone since it was
-- looked at, undone before what was set on it.
local function gone(record)
  local _, _, errno = attr.read(record.target)
  return errno == ENOENT or errno == ENODEV
end

local function undo(record)
  if gone(record) then return true end
  return put_back(record)
end

local function check(record) return gone(record) or as_it_was(record) end

attr.undo.attr = {
  look = function(record) return look(record, "gone") end,
  undo = undo,
  check = check,
}

attr.undo.tunable = {
  look = function(record) return look(record, "ours") end,
  undo = undo,
  check = check,
}

return attr
