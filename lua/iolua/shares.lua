--- Percentages of operations as exact integers that sum up to the whole.
local shares = {}

--- 100 % in the grain of shares, 10^-6 %: MIX_WHOLE of core/mix.h.
shares.WHOLE = 100000000

local function parts(percent)
  if math.type(percent) == nil or percent ~= percent or percent < 0 then
    return nil, ("%s is not a percentage"):format(tostring(percent))
  end
  if percent > 100 then return nil, ("%s is over 100 %%"):format(tostring(percent)) end
  return math.floor(percent * (shares.WHOLE // 100) + 0.5)
end

-- Whole parts as a percentage without trailing zeros: 120, 33.333333.
local function percentage(sum)
  local text = ("%d.%06d"):format(sum // 1000000, sum % 1000000)
  return (text:gsub("0+$", ""):gsub("%.$", ""))
end

local function spread(list, holes, rest)
  for i, hole in ipairs(holes) do
    list[hole] = rest // #holes + (i <= rest % #holes and 1 or 0)
  end
  return list
end

--- Integer parts of shares.WHOLE for percentages; those that are missing (false) take the
--- rest, in equal parts. Over 100 % is an error, and so is less when none is missing.
---@param percents (number|false)[]
---@return integer[]? parts
---@return string? message
function shares.complete(percents)
  local list, holes, sum = {}, {}, 0
  for i, percent in ipairs(percents) do
    list[i] = 0
    if percent then
      local part, message = parts(percent)
      if not part then return nil, message end
      list[i], sum = part, sum + part
    else
      holes[#holes + 1] = i
    end
  end
  if sum > shares.WHOLE then
    return nil, ("shares add up to %s %%, over 100 %%"):format(percentage(sum))
  elseif sum < shares.WHOLE and #holes == 0 then
    return nil, ("shares add up to %s %%, not 100 %%"):format(percentage(sum))
  end
  return spread(list, holes, shares.WHOLE - sum)
end

return shares
