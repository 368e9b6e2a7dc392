-- The members of the sweep: opened, told apart by what they hang on, and put in an order that
-- takes one of each controller or bus in turn.
local iolua = require "iolua"

local members = {}

-- What a disk shares with others: its bus, controller and link, or itself.
local function place_of(path, device)
  if type(device) == "table" and device.bus then
    return device.bus.name or tostring(device.bus), "simulated"
  end
  local disk = iolua.device.find(path)
  if not disk then return path, "file" end
  local link = disk.link and disk.link.GT_per_s
    and (" x%s at %s GT/s"):format(tostring(disk.link.width), tostring(disk.link.GT_per_s)) or ""
  return disk.controller or disk.name or path, (disk.name or path) .. link
end

--- One of each place in turn: a1 b1 c1 a2 b2 ...
---@param list table[]  with `place`
---@return table[]
function members.spread(list)
  local order, groups = {}, {}
  for _, m in ipairs(list) do
    if not groups[m.place] then
      groups[m.place] = {}
      order[#order + 1] = m.place
    end
    table.insert(groups[m.place], m)
  end
  local result, round, more = {}, 1, true
  while more do
    more = false
    for _, place in ipairs(order) do
      local m = groups[place][round]
      if m then result[#result + 1], more = m, true end
    end
    round = round + 1
  end
  return result
end

-- Each simulated bus as "bus 1", "bus 2", in the order they appear.
local function name_buses(list)
  local names, n = {}, 0
  for _, m in ipairs(list) do
    if m.how == "simulated" then
      if not names[m.place] then
        n = n + 1
        names[m.place] = "bus " .. n
      end
      m.place = names[m.place]
    end
  end
end

--- Members from paths or scratch disks: { path, device, file, place, how }.
---@param devices table  paths, or open files
---@return table[]? list
---@return string? message
function members.open(devices)
  local list = {}
  for i, device in ipairs(devices) do
    local file, message = device, nil
    if type(device) == "string" then
      file, message = iolua.open(device, { direct = true })
      if not file then return nil, message end
    end
    local path = type(device) == "string" and device or file:path()
    local place, how = place_of(path, file)
    list[i] = { path = path, device = device, file = file, opened = file ~= device,
      simulated = type(file) == "table" and file.simulated or nil, place = place, how = how }
  end
  name_buses(list)
  return members.spread(list)
end

--- Files of the first n, for a job over them all at once.
function members.files(list, n)
  local files = {}
  for i = 1, n do files[i] = list[i].file end
  return files
end

--- What a volume takes of the first n.
function members.of_volume(list, n)
  local devices = {}
  for i = 1, n do devices[i] = list[i].simulated and list[i].file or list[i].device end
  return devices
end

--- Which sits where, for the header.
function members.text(list)
  local lines = {}
  for i, m in ipairs(list) do
    lines[i] = ("%8s %2d  %-24s on %s%s"):format(i == 1 and "members" or "", i, m.path, m.place,
      m.how ~= "simulated" and m.how ~= m.path and ", " .. m.how or "")
  end
  return table.concat(lines, "\n")
end

function members.close(list)
  for _, m in ipairs(list) do
    if m.opened then m.file:close() end
  end
end

return members
