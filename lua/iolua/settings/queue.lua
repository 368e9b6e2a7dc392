--- The queue of a disk: which attributes can be set, in which order, and how they read back.
local attr = require "iolua.attr"
local group = require "iolua.settings.group"
local nearest = require "iolua.nearest"

local queue = {}

local EINVAL = 22

-- Every attribute a driver may let us write, what is put back last first: read_ahead_kb follows
-- others, the scheduler resets nr_requests and its own tunables (which stand before it).
local RECORDED = {
  "read_ahead_kb", "wbt_lat_usec", "nr_requests", "discard_max_bytes", "rq_affinity",
  "nomerges", "io_timeout", "io_poll_delay", "io_poll", "throttle_sample_time",
  "iostats_passthrough", "iostats", "add_random", "stable_writes", "rotational",
  "max_sectors_kb", "write_cache",
}

local function whole(low, high)
  return { type = "integer", low = low, high = high }
end

local BIG = 0x7fffffff

-- What can be set: the order of ORDER, the range the kernel's documentation gives.
local SETTABLE = {
  scheduler = { type = "string" },
  write_cache = { type = "string", words = { "write back", "write through" } },
  iostats = whole(0, 1),
  max_sectors_kb = whole(1, BIG),
  nr_requests = whole(1, BIG),
  wbt_lat_usec = whole(-1, BIG),
  rq_affinity = whole(0, BIG),
  nomerges = whole(0, 2),
  read_ahead_kb = whole(0, BIG),
}
local ORDER = { "scheduler", "write_cache", "iostats", "max_sectors_kb", "nr_requests",
  "wbt_lat_usec", "rq_affinity", "nomerges", "read_ahead_kb" }

--- The names that set takes for a queue.
---@return string[]
function queue.names()
  local names = { "iosched", "read_ahead_sectors" }
  for name in pairs(SETTABLE) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The path of an attribute of a disk.
---@param device { disk_sys: string }
---@param name string
---@return string
function queue.path(device, name)
  return device.disk_sys .. "/queue/" .. name
end

-- The members of the group, in the order they are recorded.
local function members(device)
  local list = {}
  for _, name in ipairs(RECORDED) do list[#list + 1] = { target = queue.path(device, name) } end
  local folder = queue.path(device, "iosched")
  for _, name in ipairs(attr.list(folder)) do
    list[#list + 1] = { kind = "tunable", target = folder .. "/" .. name }
  end
  list[#list + 1] = { target = queue.path(device, "scheduler") }
  return list
end

-- A table of options as texts. Raises what can be no value of any disk.
local function text_of(name, value, spec)
  if spec.type == "integer" then
    local n = math.type(value) == "integer" and value
      or type(value) == "number" and math.tointeger(value)
    if not n then
      error(("%s = %s: it is an integer"):format(name, tostring(value)), 0)
    end
    if n < spec.low or n > spec.high then
      error(("%s = %d: it is %d to %d"):format(name, n, spec.low, spec.high), 0)
    end
    return ("%d"):format(n)
  end
  if type(value) ~= "string" or value == "" then
    error(("%s = %s: it is a name"):format(name, tostring(value)), 0)
  end
  if spec.words and value ~= spec.words[1] and value ~= spec.words[2] then
    error(("%s = %q: it is %q or %q"):format(name, value, spec.words[1], spec.words[2]), 0)
  end
  return value
end

-- Read-ahead is whole pages: the kernel rounds down.
local function compare_read_ahead(asked, took)
  local want, got = tonumber(asked), tonumber(took)
  if got == want then return true end
  if got and got < want and want - got < 64 then
    return true, ("%d asked, %d taken: whole pages"):format(want, got)
  end
  return nil, ("%s asked, but it is %s"):format(asked, took)
end

-- The same for what was asked in sectors of 512 bytes.
local function compare_sectors(sectors)
  return function(asked, took)
    local fine, said = compare_read_ahead(asked, took)
    local got = fine and 2 * tonumber(took)
    if not fine or got == sectors then return fine, said end
    return true, ("%d sectors asked, %d taken: whole pages"):format(sectors, got)
  end
end

-- nr_requests has a least value; a cap above is an error the kernel reports itself.
local function compare_requests(asked, took)
  local want, got = tonumber(asked), tonumber(took)
  if got == want then return true end
  if got and want < got and got <= 4 then
    return true, ("%d asked, %d taken: the least there is"):format(want, got)
  end
  return nil, ("%s asked, but it is %s"):format(asked, took)
end

local COMPARE = { read_ahead_kb = compare_read_ahead, nr_requests = compare_requests }

local function scheduler_refused(device, path, name)
  return function(message, errno)
    if errno ~= EINVAL then return message end
    local text = require("iolua.core").attr.read(path) or ""
    return ("%s has no scheduler %q; it has %s"):format(device.disk, name,
      table.concat(attr.choices(text), ", "))
  end
end

local function change_of(device, name, text)
  local path = queue.path(device, name)
  local change = { name = name, target = path, text = text, compare = COMPARE[name] }
  if name == "scheduler" then change.refused = scheduler_refused(device, path, text) end
  return change
end

local function tunables(device, values)
  if type(values) ~= "table" then
    error("iosched is a table of the scheduler's own values", 0)
  end
  local changes = {}
  for _, name in ipairs(nearest.keys(values)) do
    if name:find("/", 1, true) or name:sub(1, 1) == "." then
      error(("iosched: %q is no name of a value"):format(name), 0)
    end
    changes[#changes + 1] = {
      name = "iosched." .. name, target = queue.path(device, "iosched/" .. name),
      text = text_of(name, values[name], whole(-BIG, BIG)),
    }
  end
  return changes
end

-- One of read_ahead_kb and read_ahead_sectors, as a change.
local function read_ahead(device, values)
  local sectors = values.read_ahead_sectors
  if sectors == nil then return nil end
  if values.read_ahead_kb ~= nil then
    error("read_ahead_kb and read_ahead_sectors are the same setting: give one", 0)
  end
  text_of("read_ahead_sectors", sectors, whole(0, BIG))
  local change = change_of(device, "read_ahead_kb", ("%d"):format(sectors // 2))
  change.compare = compare_sectors(sectors)
  return change
end

local function add(list, change)
  list[#list + 1] = change
end

-- All changes, in the order they must be made.
local function changes_of(device, values)
  local changes = {}
  for _, name in ipairs(ORDER) do
    local value = values[name]
    if value ~= nil then add(changes, change_of(device, name, text_of(name, value,
      SETTABLE[name]))) end
    if name == "scheduler" and values.iosched ~= nil then
      for _, change in ipairs(tunables(device, values.iosched)) do add(changes, change) end
    end
  end
  add(changes, read_ahead(device, values))
  return changes
end

local function number_or_text(text)
  return text and (math.tointeger(tonumber(text)) or text)
end

-- Numbers as numbers, and read-ahead in both units.
local function shaped(taken)
  local result = {}
  for name, text in pairs(taken) do
    local tunable = name:match("^iosched%.(.+)")
    if tunable then
      result.iosched = result.iosched or {}
      result.iosched[tunable] = number_or_text(text)
    else
      result[name] = number_or_text(text)
    end
  end
  if result.read_ahead_kb then result.read_ahead_sectors = 2 * result.read_ahead_kb end
  return result
end

--- Set attributes of the disk `device` (core.blk.find) is on. All or none.
---@param device table
---@param values table  name -> value
---@return table? taken  what each became, as read back
---@return string[]|string notes  what is to be known, or the message
---@return integer? errno
function queue.set(device, values)
  local changes = changes_of(device, values)
  if #changes == 0 then return {}, {} end
  local name = "queue of " .. device.disk
  local taken, notes, errno = group.change(name, members(device), changes)
  if not taken then return nil, notes, errno end
  return shaped(taken), notes
end

--- Every attribute of the disk that can be set, as it is now; `schedulers` lists what there is.
---@param device table
---@return table
function queue.get(device)
  local values = {}
  for name in pairs(SETTABLE) do values[name] = attr.read(queue.path(device, name)) end
  for _, name in ipairs(attr.list(queue.path(device, "iosched"))) do
    values["iosched." .. name] = attr.read(queue.path(device, "iosched/" .. name))
  end
  local result = shaped(values)
  local text = require("iolua.core").attr.read(queue.path(device, "scheduler"))
  result.schedulers = text and attr.choices(text)
  return result
end

return queue
