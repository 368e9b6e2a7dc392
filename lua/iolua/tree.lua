--- A machine as text: one line an object, what lies in it indented below.
--
-- Things that are one are on one line (a package with its only cache), a core and its CPUs are
-- one line, and many cores alike in a row become one.
local tree = {}

local FEW = 16                  -- cores of one parent that are still a line each

-- The flat walk as a tree: each object gets its children.
local function build(objects)
  local path = {}
  for _, object in ipairs(objects) do
    object.children = {}
    path[object.depth] = object
    local parent = path[object.depth - 1]
    if parent then parent.children[#parent.children + 1] = object end
  end
  return objects[1]
end

local function size(bytes)
  if not bytes or bytes == 0 then return nil end
  for _, unit in ipairs { { "TiB", 40 }, { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 } } do
    local scale = 1 << unit[2]
    if bytes >= scale then
      local value = bytes / scale
      return (value == math.floor(value) and "%d %s" or "%.1f %s"):format(
        value == math.floor(value) and value // 1 or value, unit[1])
    end
  end
  return bytes .. " B"
end

local function cpus_text(set)
  if #set == 0 then return "no CPU" end
  return (#set == 1 and "CPU " or "CPUs ") .. tostring(set)
end

-- Words for one object, without its CPUs.
local function label(object)
  if object.type == "machine" then return "machine" end
  local text = object.type
  if object.type == "disk" or object.type == "pcidev" or object.type == "osdev" then
    return object.name and text .. " " .. object.name or text
  end
  if object.type == "numanode" then
    return ("node %d, %s"):format(object.number, size(object.bytes) or "no memory")
  end
  if object.index then text = text .. " " .. object.index end
  local bytes = size(object.bytes)
  return bytes and ("%s (%s)"):format(text, bytes) or text
end

-- Is this a core, with nothing but CPUs below it (its own caches do not count)?
local function is_core(object)
  while object.type:find("cache$") and #object.children == 1 do object = object.children[1] end
  return object.type == "core" or object.type == "pu"
end

local function core_of(object)
  while object.type:find("cache$") do object = object.children[1] end
  return object
end

-- "core 3: CPUs 3,11", with its private caches.
local function core_line(object)
  local private = {}
  local at = object
  while at.type:find("cache$") do
    private[#private + 1] = ("%s %s"):format(at.type:gsub("cache$", ""), size(at.bytes) or "?")
    at = at.children[1]
  end
  if at.type == "pu" then return cpus_text(at.cpus) end
  local caches = #private > 0 and " (" .. table.concat(private, ", ") .. ")" or ""
  return ("core %d%s: %s"):format(at.index, caches, cpus_text(at.cpus))
end

-- From first to last: cores in a row.
local function cores(lines, indent, row)
  if #row <= FEW then
    for _, object in ipairs(row) do lines[#lines + 1] = indent .. core_line(object) end
    return
  end
  local first, last = core_of(row[1]), core_of(row[#row])
  local all = first.cpus
  for i = 2, #row do all = all | core_of(row[i]).cpus end
  if first.type == "pu" then
    lines[#lines + 1] = indent .. cpus_text(all)
  else
    lines[#lines + 1] = ("%s%d cores %d-%d: %s"):format(indent, #row, first.index, last.index,
      cpus_text(all))
  end
end

local function is_bus(object) return object.type == "bridge" or object.type == "pcidev" end

-- The disks below a bus, by name.
local function disks(object, list)
  for _, child in ipairs(object.children) do
    if child.type == "disk" then list[#list + 1] = child.name or "?" end
    disks(child, list)
  end
  return list
end

local render

local function children(lines, indent, object)
  local row, found = {}, {}
  for _, child in ipairs(object.children) do
    if is_core(child) then
      row[#row + 1] = child
    elseif is_bus(child) then
      disks(child, found)
    elseif child.type == "disk" then
      found[#found + 1] = child.name or "?"
    elseif child.type ~= "osdev" and child.type ~= "misc" then
      render(lines, indent, child)
    end
  end
  if #row > 0 then cores(lines, indent, row) end
  if #found > 0 then
    table.sort(found)
    lines[#lines + 1] = ("%s%s %s"):format(indent, #found == 1 and "disk" or "disks",
      table.concat(found, ", "))
  end
end

-- A node is a line of its own; what holds only one thing of the same CPUs shares its line.
render = function(lines, indent, object)
  if object.type == "numanode" or object.type == "memcache" then
    lines[#lines + 1] = indent .. label(object) ..
      (#object.cpus == 0 and ", no CPU" or "")
    return children(lines, indent .. "  ", object)
  end
  local words = { label(object) }
  while #object.children == 1 and not is_core(object.children[1])
    and not is_bus(object.children[1]) and object.children[1].type ~= "numanode" do
    object = object.children[1]
    words[#words + 1] = label(object)
  end
  lines[#lines + 1] = ("%s%s: %s"):format(indent, table.concat(words, " + "),
    cpus_text(object.cpus))
  return children(lines, indent .. "  ", object)
end

--- The text of a walk (iolua.core.topo), without a final newline.
---@param objects table[]  each before what is in it, with its depth
---@return string
function tree.text(objects)
  local lines = {}
  render(lines, "", build(objects))
  return table.concat(lines, "\n")
end

return tree
