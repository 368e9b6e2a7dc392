--- Results of different runs or machines against each other: the same cases, no common blocks.
local stats = require "iolua.stats"
local verdict = require "iolua.experiment.verdict"

local across = {}

-- What changes from minute to minute and says nothing about the machine.
local VOLATILE = { ["memory.available_bytes"] = true }

local function flatten(value, prefix, into)
  for key, item in pairs(value or {}) do
    local path = prefix == "" and tostring(key) or prefix .. "." .. tostring(key)
    if type(item) == "table" then flatten(item, path, into)
    elseif not VOLATILE[path] and not path:find("^unreadable") then into[path] = tostring(item) end
  end
  return into
end

-- What was run, and where.
local function facts(result)
  local found = flatten(result.environment, "", {})
  local about = result.about or {}
  found["script hash"] = about.script_hash
  found.arguments = about.arguments and table.concat(about.arguments, " ")
  found["iolua version"] = about.versions and about.versions.iolua
  return found
end

local function clipped(text)
  if text == nil then return "not known" end
  text = text:gsub("%s+", " ")
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

--- In what the environments of two results differ.
---@param a iolua.result
---@param b iolua.result
---@return { what: string, a: string, b: string }[]
function across.differences(a, b)
  local left, right, keys, list = facts(a), facts(b), {}, {}
  for key in pairs(left) do keys[key] = true end
  for key in pairs(right) do keys[key] = true end
  for key in pairs(keys) do
    if left[key] ~= right[key] then
      list[#list + 1] = { what = key, a = clipped(left[key]), b = clipped(right[key]) }
    end
  end
  table.sort(list, function(x, y) return x.what < y.what end)
  return list
end

local function by_label(result)
  local index = {}
  for i, row in ipairs(result:summary()) do index[row.case_label] = i end
  return index
end

-- Groups of base and values for each case both have; labels only one has.
local function groups_of(base, other, metric, several)
  local index, groups, alone = by_label(other), {}, {}
  for i, row in ipairs(base:summary()) do
    local j = index[row.case_label]
    if j then
      groups[#groups + 1] = { base = base:values(i, metric), values = other:values(j, metric),
        label = several and ("%s: %s"):format(other.label, row.case_label) or row.case_label }
      index[row.case_label] = nil
    else
      alone[#alone + 1] = row.case_label
    end
  end
  for label in pairs(index) do alone[#alone + 1] = label end
  return groups, alone
end

-- Does one of the results not even agree with itself?
local function self_check(results, metric)
  for _, result in ipairs(results) do
    if result.duplicate and result.baseline then
      local a = result:values(result.baseline, metric)
      local b = result:values(result.baseline, metric, true)
      local c = stats.welch(a, b)
      if c.p and c.p < 0.05 then
        return { differs = true, percent = c.percent, p = c.p, where = result.label }
      end
    end
  end
end

local function metric_of(results, metric)
  local names = results[1]:metrics()
  if metric == nil then return names[1] end
  for _, name in ipairs(names) do
    if name == metric then return metric end
  end
  error(("no metric %q%s"):format(metric, require("iolua.nearest").hint(metric, names)), 0)
end

--- Compare results, the first being the baseline. Each has a `label`.
---@param results iolua.result[]
---@param options? { metric: string, smallest: string|number }
---@return table comparison  as of result:compare, with `remarks` and `differences`
function across.compare(results, options)
  local o = options or {}
  local metric = metric_of(results, o.metric)
  local smallest, message
  if o.smallest then smallest, message = verdict.smallest(o.smallest) end
  if message then error(message, 0) end
  local groups, remarks, differences = {}, {}, {}
  for k = 2, #results do
    local more, alone = groups_of(results[1], results[k], metric, #results > 2)
    table.move(more, 1, #more, #groups + 1, groups)
    if #alone > 0 then
      remarks[#remarks + 1] = ("only in one of %s and %s: %s"):format(results[1].label,
        results[k].label, table.concat(alone, ", "))
    end
    for _, d in ipairs(across.differences(results[1], results[k])) do
      differences[#differences + 1] = d
      remarks[#remarks + 1] = ("differs: %s: %s in %s, %s in %s"):format(d.what, d.a,
        results[1].label, d.b, results[k].label)
    end
  end
  if #differences == 0 then remarks[#remarks + 1] = "the environments do not differ" end
  local c = verdict.unpaired(groups, { metric = metric, smallest = smallest,
    better = results[1].better and results[1].better[metric], baseline = results[1].label,
    aa = self_check(results, metric) })
  c.remarks, c.differences = remarks, differences
  return c
end

return across
