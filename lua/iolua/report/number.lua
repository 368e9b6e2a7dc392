--- Numbers as text that machines read back exactly, in every locale.
local number = {}

--- A text made by string.format with the decimal point that the locale may have replaced.
---@param text string
---@return string
function number.pointed(text)
  local point = ("%.1f"):format(0.5):sub(2, -2)
  if point == "." then return text end
  local at, last = text:find(point, 1, true)
  return at and text:sub(1, at - 1) .. "." .. text:sub(last + 1) or text
end

--- The shortest decimal text that reads back as the same float; always with a point or an
--- exponent, so that a float stays one. nil for NaN and infinities.
---@param x number
---@return string?
function number.float(x)
  if x ~= x or x == math.huge or x == -math.huge then return nil end
  for digits = 15, 17 do
    local text = ("%." .. digits .. "g"):format(x)
    -- tonumber reads with the locale's decimal point, as format writes.
    if tonumber(text) == x or digits == 17 then
      text = number.pointed(text)
      return text:find("[.eE]") and text or text .. ".0"
    end
  end
end

--- An integer or float as text; nil where there is nothing to say.
---@param x number
---@return string?
function number.text(x)
  if math.type(x) == "integer" then return ("%d"):format(x) end
  return number.float(x)
end

return number
