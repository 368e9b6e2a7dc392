--- What GNU dd says at its end, on stderr.
local text = require "iolua.program.text"

local dd = {}

--- Blocks whole and partial, bytes, seconds. The rate is recomputed: dd prints two figures.
---@param output string
---@return table? result  records_in, records_out (whole, partial), bytes, seconds, bytes_per_s
---@return string? message
function dd.read(output)
  local r, lines = {}, text.lines(output)
  for i, line in ipairs(lines) do
    local whole, partial, way = line:match("^(%d+)%+(%d+) records (%a+)$")
    local bytes, seconds = line:match("^(%d+) bytes .*copied, ([%d.e+-]+) s,")
    if way == "in" or way == "out" then
      r["records_" .. way] = { whole = text.count(whole), partial = text.count(partial) }
    elseif bytes then
      r.bytes, r.seconds = text.count(bytes), tonumber(seconds)
    elseif line:find("copied") or line:find(" records ") then
      return text.refuse("dd", i, line)
    end
  end
  if not (r.bytes and r.seconds and r.records_in and r.records_out) then
    return text.refuse("dd", #lines, nil, "no count of bytes copied")
  end
  r.bytes_per_s = r.seconds > 0 and r.bytes / r.seconds or nil
  return r
end

return dd
