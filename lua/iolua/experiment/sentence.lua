--- One plain sentence that a manager can read, from a comparison.
local verdict = require "iolua.experiment.verdict"

local sentence = {}

local function named(arms, kind)
  local list = {}
  for _, arm in ipairs(arms) do
    if arm.verdict == kind then list[#list + 1] = arm end
  end
  return list
end

--- "2 of 3 blocks" where an arm was not judged by all; else nil.
---@param arm table
---@param result table  of verdict.compare
---@return string?
function sentence.blocks(arm, result)
  if not result.blocks or not arm.n or arm.n >= result.blocks then return nil end
  return ("%d of %d blocks"):format(arm.n, result.blocks)
end

local function clause(arm, result)
  local few = sentence.blocks(arm, result)
  return ("%s is %s than %s by %s (95 %% interval %s to %s%s)"):format(arm.label, arm.verdict,
    result.baseline, verdict.percent(math.abs(arm.percent or 0), true),
    arm.low_percent and verdict.percent(arm.low_percent) or "-",
    arm.high_percent and verdict.percent(arm.high_percent) or "-", few and "; " .. few or "")
end

local function largest(arms, key)
  local found
  for _, arm in ipairs(arms) do
    if arm[key] and (not found or arm[key] > found) then found = arm[key] end
  end
  return found
end

local function join(parts)
  if #parts <= 1 then return parts[1] end
  return table.concat(parts, ", ", 1, #parts - 1) .. " and " .. parts[#parts]
end

-- What could not be told, and what would have been seen.
local function untold(arms, result, others)
  local seen, more = largest(arms, "could_have_seen_percent"), largest(arms, "more_blocks")
  local who = others and (#arms == 1 and arms[1].label or ("the other %d"):format(#arms)) or nil
  local text = who and ("%s cannot be told apart from %s"):format(who, result.baseline)
    or #arms == 1 and ("no difference found between %s and %s"):format(arms[1].label,
      result.baseline)
    or ("no difference found between %s and the other %d"):format(result.baseline, #arms)
  if not seen then
    local n = 0
    for _, arm in ipairs(arms) do n = math.max(n, arm.n) end
    return text .. (n < 2 and ": with one run an arm nobody can tell" or "")
  end
  text = ("%s (a difference of %s would have been seen"):format(text, verdict.percent(seen, true))
  if more and more > 0 then
    text = ("%s; for %s about %d more block%s are needed"):format(text,
      verdict.percent(result.smallest_percent, true):gsub("%.0+ ", " "), more, more == 1 and ""
        or "s")
  end
  return text .. ")"
end

local function same(arms, result, others)
  if not result.smallest_percent then
    return ("%s %s the same as %s in every block"):format(#arms == 1 and arms[1].label
      or ("%d arms"):format(#arms), #arms == 1 and "is" or "are", result.baseline)
  end
  local within = verdict.percent(result.smallest_percent, true):gsub("%.0+ ", " ")
  local who = #arms == 1 and arms[1].label or others and ("%d others"):format(#arms)
    or ("all %d others"):format(#arms)
  return ("%s %s equivalent to %s within %s"):format(who, #arms == 1 and "is" or "are",
    result.baseline, within)
end

--- The sentence of a comparison.
---@param result table  of verdict.compare
---@return string
function sentence.of(result)
  local function said(text)
    return (("%s: %s."):format(result.metric, text))
  end
  if #result.arms == 0 then
    return said(("there is nothing to compare %s with"):format(result.baseline))
  end
  if result.cannot_matter then return said("cannot matter here: " .. result.cannot_matter) end
  if result.aa and result.aa.differs then
    return said(("inconclusive: %s and its own duplicate differ by %s, so nothing"
      .. " here can be believed"):format(result.aa.of or result.baseline,
      verdict.percent(math.abs(result.aa.percent or 0), true)))
  end
  local parts = {}
  for _, kind in ipairs { "faster", "slower" } do
    for _, arm in ipairs(named(result.arms, kind)) do parts[#parts + 1] = clause(arm, result) end
  end
  -- More than three by name is no sentence any more.
  if #parts > 3 then
    local n = #parts
    parts = { parts[1], parts[2], ("%d more differ from %s too"):format(n - 2, result.baseline) }
  end
  local equivalent, rest = named(result.arms, "equivalent"), named(result.arms, "cannot tell")
  local some = #parts > 0
  if #equivalent > 0 then parts[#parts + 1] = same(equivalent, result, some or #rest > 0) end
  if #rest > 0 then parts[#parts + 1] = untold(rest, result, #parts > 0) end
  return said(join(parts))
end

return sentence
