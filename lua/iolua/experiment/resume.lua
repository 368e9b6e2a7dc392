--- Going on where a killed run stopped: only with the same script, factors and order.
local json = require "iolua.report.json"
local store = require "iolua.store"

local resume = {}

local function text_of(value)
  return value == nil and "nothing" or json.encode(value)
end

-- What differs between the manifest on disk and what would be run now, as sentences.
local function differences(old, new)
  local found = {}
  local function compare(what, a, b)
    if text_of(a) ~= text_of(b) then
      found[#found + 1] = ("%s: was %s, is %s"):format(what, text_of(a), text_of(b))
    end
  end
  if old.name ~= new.name then compare("name", old.name, new.name) end
  if old.script_hash ~= new.script_hash then
    found[#found + 1] = ("the script %s has changed since"):format(new.script or old.script or "")
  end
  compare("arguments", json.array(old.arguments or {}), json.array(new.arguments or {}))
  local before = {}
  for _, factor in ipairs(old.factors) do before[factor.name] = factor.levels end
  for _, factor in ipairs(new.factors) do
    compare("factor " .. factor.name, before[factor.name] and json.array(before[factor.name]),
      factor.levels)
    before[factor.name] = nil
  end
  for name, levels in pairs(before) do compare("factor " .. name, json.array(levels), nil) end
  for _, key in ipairs { "replicates", "seed", "planned" } do compare(key, old[key], new[key]) end
  if #found == 0 then compare("order of the runs", json.array(old.order),
    json.array(new.order)) end
  return found
end

--- The seed of the first run, where a folder holds one.
---@param dir string
---@return integer? seed
function resume.seed(dir)
  local manifest = store.read(dir)
  return manifest and manifest.seed
end

--- Is there a run in this folder?
function resume.exists(dir)
  local file = io.open(dir .. "/manifest.json")
  if file then file:close() end
  return file ~= nil
end

--- Open a folder to go on in it: the store, and its rows by run number.
---@param dir string
---@param new table  the manifest of what would be run now
---@return table? store
---@return table|string rows  by run number; or why not
function resume.open(dir, new)
  local s, rows = store.open(dir)
  if not s then return nil, rows end
  local found = differences(s.manifest, new)
  if #found > 0 then
    s.file:close()
    return nil, ("cannot go on in %s: %s"):format(dir, table.concat(found, "; "))
  end
  local done = {}
  for _, row in ipairs(rows) do done[row.run] = row end
  return s, done
end

return resume
