--- The interrupts of a disk: by queue, where they go, and moving them.
local attr = require "iolua.attr"
local core = require "iolua.core"
local journal = require "iolua.journal"
local nearest = require "iolua.nearest"

local irq = { undo = {} }

local EPERM, ENOENT, EIO, EINVAL, ENOSPC = 1, 2, 5, 22, 28

--- CPUs of a mask of the kernel: "00000000,08000000" is { 27 }.
---@param mask string
---@return integer[]? cpus  ascending; nil when it is no mask
function irq.cpus_of_mask(mask)
  local cpus, base = {}, 0
  if not mask:find("^[%x,]+$") then return nil end
  local digits = mask:gsub(",", "")
  for i = #digits, 1, -1 do
    local nibble = tonumber(digits:sub(i, i), 16)
    for bit = 0, 3 do
      if nibble >> bit & 1 == 1 then cpus[#cpus + 1] = base + bit end
    end
    base = base + 4
  end
  return cpus
end

--- CPUs of a list of the kernel: "0-2,8" and "0, 1" of cpu_list.
---@param list string
---@return integer[]? cpus
function irq.cpus_of_list(list)
  local cpus = {}
  for word in list:gmatch("[^,%s]+") do
    local first, last = word:match("^(%d+)%-(%d+)$")
    first = math.tointeger(tonumber(first or word))
    last = math.tointeger(tonumber(last or word))
    if not first or not last then return nil end
    for cpu = first, last do cpus[#cpus + 1] = cpu end
  end
  return cpus
end

-- /proc/interrupts: number -> { name =, counts = { [cpu] = n } }.
local function table_of(root)
  local text = core.attr.read(root .. "/proc/interrupts") or ""
  local head = text:match("^[^\n]*") or ""
  local columns, rows = {}, {}
  for cpu in head:gmatch("CPU(%d+)") do columns[#columns + 1] = math.tointeger(tonumber(cpu)) end
  for number, rest in text:gmatch("\n%s*(%d+):([^\n]*)") do
    local counts, at = {}, 1
    for _, cpu in ipairs(columns) do
      local from, to, count = rest:find("^%s*(%d+)", at)
      if not from then break end
      counts[cpu], at = math.tointeger(tonumber(count)), to + 1
    end
    local words = rest:sub(at)
    rows[math.tointeger(tonumber(number))] = { counts = counts,
      name = words:match("%d%-%l+%s+(.-)%s*$") or words:match("(%S+)%s*$") or "" }
  end
  return rows
end

-- The folder of the controller: the nearest one above the disk with interrupts of its own.
-- With NVMe multipath the disk is a virtual one; the controllers lie in its subsystem.
local function above(path, root)
  while #path > #root + #"/sys/devices" do
    if #attr.list(path .. "/msi_irqs") > 0 then return path end
    local line = attr.read(path .. "/irq")
    if line and line ~= "0" then return path end
    path = path:match("^(.*)/[^/]+$")
  end
end

local function controllers(device, root)
  local found, seen = {}, {}
  local function add(path)
    path = path and above(path, root)
    if path and not seen[path] then
      seen[path] = true
      found[#found + 1] = path
    end
  end
  add(device.disk_sys)
  if #found == 0 then
    local subsystem = core.attr.real(device.disk_sys .. "/device")
    for _, name in ipairs(subsystem and attr.list(subsystem) or {}) do
      if name:find("^nvme%d+$") then add(core.attr.real(subsystem .. "/" .. name)) end
    end
  end
  return found
end

local function numbers_of(controller)
  local numbers = {}
  for _, name in ipairs(attr.list(controller .. "/msi_irqs")) do
    numbers[#numbers + 1] = math.tointeger(tonumber(name))
  end
  if #numbers == 0 then numbers[1] = math.tointeger(tonumber(attr.read(controller .. "/irq"))) end
  return numbers
end

-- Which queue a vector serves by its name, and whether it carries I/O at all. Drivers name
-- them virtio1-req.0, nvme0q1 (q0 is the admin queue), virtio0-request.2, mpt3sas0-msix3.
local function role(name)
  local nvme = name:match("^nvme%d+q(%d+)$")
  if nvme then
    local q = math.tointeger(tonumber(nvme))
    return q > 0 and q - 1 or nil, q > 0
  end
  if name:find("%-config$") or name:find("%-control$") or name:find("%-event$") then
    return nil, false
  end
  local queue = name:match("%-req%.(%d+)$") or name:match("%-request%.(%d+)$")
    or name:match("%-msix(%d+)$")
  return math.tointeger(tonumber(queue)), true
end

-- Whether the kernel keeps the interrupt where it is: known before a try only from debugfs.
local function managed(number, root)
  local text = core.attr.read(("%s/sys/kernel/debug/irq/irqs/%d"):format(root, number))
  if not text then return nil end
  return text:find("IRQD_AFFINITY_MANAGED", 1, true) ~= nil
end

local function cpus_at(folder, name)
  local text = attr.read(folder .. "/" .. name .. "_list")
  if text then return irq.cpus_of_list(text) end
  text = attr.read(folder .. "/" .. name)
  return text and irq.cpus_of_mask(text)
end

local function vector(number, row, root)
  local folder = ("%s/proc/irq/%d"):format(root, number)
  local queue, io = role(row.name)
  return { irq = number, name = row.name, queue = queue, io = io, counts = row.counts,
    cpus = cpus_at(folder, "smp_affinity"), effective = cpus_at(folder, "effective_affinity"),
    managed = managed(number, root) }
end

local function vectors_of(device, root)
  local rows, list = table_of(root), {}
  local found = controllers(device, root)
  for _, controller in ipairs(found) do
    for _, number in ipairs(numbers_of(controller)) do
      -- A vector that no driver uses has no row.
      if rows[number] then list[#list + 1] = vector(number, rows[number], root) end
    end
  end
  return list, found
end

-- Hardware queues and the vector of each: its own, or the one that serves all.
local function queues_of(device, vectors)
  local queues = {}
  local shared
  for _, v in ipairs(vectors) do
    if v.io and v.queue == nil then shared = shared or v.irq end
  end
  for _, name in ipairs(attr.list(device.disk_sys .. "/mq")) do
    local index = math.tointeger(tonumber(name))
    local list = attr.read(("%s/mq/%s/cpu_list"):format(device.disk_sys, name))
    local queue = { queue = index, cpus = list and irq.cpus_of_list(list), irq = shared }
    for _, v in ipairs(vectors) do
      if v.queue == index then queue.irq = v.irq end
    end
    queues[#queues + 1] = queue
  end
  return queues
end

local function irqbalance(root)
  for _, name in ipairs(attr.list(root .. "/proc")) do
    if name:find("^%d+$") and attr.read(root .. "/proc/" .. name .. "/comm") == "irqbalance" then
      return math.tointeger(tonumber(name))
    end
  end
end

local function notes_of(result)
  local notes = {}
  if result.irqbalance then
    notes[1] = ("irqbalance (pid %d) is running and may move interrupts meanwhile"):format(
      result.irqbalance)
  end
  return notes
end

--- The interrupts of a disk: { disk, controllers, vectors = { { irq, name, queue, io, cpus,
--- effective, managed, counts } }, queues = { { queue, cpus, irq } }, irqbalance, notes }.
---@param device table  core.blk.find
---@param root string
---@return table?
---@return string? message
---@return integer? errno
function irq.get(device, root)
  local vectors, found = vectors_of(device, root)
  if #found == 0 then
    return nil, ("%s has no interrupts of its own: it is a virtual device"):format(device.disk),
      ENOENT
  end
  local result = { disk = device.disk, controllers = found, vectors = vectors,
    queues = queues_of(device, vectors), irqbalance = irqbalance(root) }
  result.notes = notes_of(result)
  return result
end

-- The text of a set of CPUs: a list, a number, an array, a cpuset.
local function list_text(cpus)
  if type(cpus) == "table" and not (getmetatable(cpus) or {}).__tostring then
    local words = {}
    for i, cpu in ipairs(cpus) do words[i] = ("%d"):format(cpu) end
    cpus = table.concat(words, ",")
  end
  local text = tostring(cpus)
  local list = irq.cpus_of_list(text)
  if not list or #list == 0 then
    error(("irq: cpus = %s is no set of CPUs"):format(text), 0)
  end
  return text, list
end

local function same_cpus(a, b)
  return a and b and table.concat(a, ",") == table.concat(b, ",")
end

local REASONS = {
  [EPERM] = "the kernel keeps this one",
  [EIO] = "the kernel keeps this one",
  [ENOENT] = "this vector went away",
  [ENOSPC] = "no free interrupt vector on these CPUs",
  [EINVAL] = "none of these CPUs is online",
}

local function hold(target, old)
  local known = journal.find(target)
  if known then return known.id end
  return journal.add { { kind = "irq", target = target, old = old } }
end

-- Move one vector; says in v.moved or v.refused what came of it.
local function move(v, text, list, root)
  local path = ("%s/proc/irq/%d/smp_affinity_list"):format(root, v.irq)
  local old, message, errno = attr.read(path)
  if not old then return REASONS[errno] or message, errno end
  local id, held, number = hold(path .. " " .. v.name, old)
  if not id then return held, number end
  journal.note { { id = id } }
  local written, refused, failed = attr.write(path, text)
  local took = attr.read(path)
  journal.note { { id = id, now = took } }
  if not written then return REASONS[failed] or refused, failed end
  if not same_cpus(took and irq.cpus_of_list(took), list) then
    return ("%s asked, but it is %s"):format(text, tostring(took)), EINVAL
  end
end

local function check(to)
  for key in pairs(to) do
    if key ~= "cpus" and key ~= "queue" then
      error(("irq: unknown key %q%s"):format(tostring(key),
        nearest.hint(key, { "cpus", "queue" })), 0)
    end
  end
end

local function all_refused(result)
  local words = {}
  for _, v in ipairs(result.vectors) do
    if v.refused then words[#words + 1] = ("%d %s: %s"):format(v.irq, v.name, v.refused) end
  end
  if #words == 0 then words[1] = "it has none that carries I/O of that queue" end
  return ("no interrupt of %s was moved (%s)"):format(result.disk, table.concat(words, "; "))
end

--- Move the interrupts that carry a disk's I/O (or those of one queue) to CPUs. A vector has
--- then `moved` = true or `refused` = why. Where they really arrive shows at the next
--- interrupt: settings.irq_count proves it.
---@param device table
---@param to { cpus: string|integer|integer[]|iolua.cpuset, queue: integer? }
---@param root string
---@return table? interrupts  nil when none was moved
---@return string? message
---@return integer? errno
---@return table? interrupts  also when none was moved
function irq.set(device, to, root)
  check(to)
  local text, list = list_text(to.cpus)
  local result, message, errno = irq.get(device, root)
  if not result then return nil, message, errno end
  local moved, last = 0, ENOENT
  for _, v in ipairs(result.vectors) do
    if v.io and (to.queue == nil or v.queue == nil or v.queue == to.queue) then
      v.refused, last = move(v, text, list, root)
      v.moved = v.refused == nil
      if last == EIO then v.managed = true end
      moved = moved + (v.moved and 1 or 0)
      v.cpus = cpus_at(("%s/proc/irq/%d"):format(root, v.irq), "smp_affinity") or v.cpus
    end
  end
  if moved > 0 then return result end
  return nil, all_refused(result), last, result
end

--- Interrupts of a disk that arrive while fn runs, by vector and CPU.
---@param device table
---@param fn function
---@param root string
---@return table? vectors  { { irq, name, queue, counts = { [cpu] = n } } }
---@return string? message
---@return integer? errno
function irq.count(device, fn, root)
  local before, message, errno = irq.get(device, root)
  if not before then return nil, message, errno end
  fn()
  local rows = table_of(root)
  local result = {}
  for _, v in ipairs(before.vectors) do
    local counts = {}
    for cpu, n in pairs(rows[v.irq] and rows[v.irq].counts or {}) do
      counts[cpu] = n - (v.counts[cpu] or 0)
    end
    result[#result + 1] = { irq = v.irq, name = v.name, queue = v.queue, io = v.io,
      counts = counts }
  end
  return result
end

local function parts(record)
  return record.target:match("^(.-/proc/irq/(%d+)/smp_affinity_list) (.*)$")
end

-- Numbers are given out anew: the vector is ours while its name is the one it had.
local function still_there(record)
  local path, number, name = parts(record)
  local root = path:match("^(.-)/proc/irq/%d+/smp_affinity_list$")
  local row = table_of(root)[math.tointeger(tonumber(number))]
  return row ~= nil and row.name == name, path
end

irq.undo.irq = {
  look = function(record)
    local there, path = still_there(record)
    local value = there and attr.read(path)
    if not value then return "gone" end
    if value == record.old then return "same" end
    if record.now == nil or value == record.now then return "ours" end
    return "foreign", value
  end,
  undo = function(record)
    local path = parts(record)
    if attr.read(path) == record.old then return true end
    return attr.write(path, record.old)
  end,
  check = function(record)
    return attr.read((parts(record))) == record.old
  end,
}

return irq
