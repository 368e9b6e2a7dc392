--- Where operations go, as text: "uniform", "zipf:1.2", "pareto:0.2", "normal:20",
--- "zoned:50/5:30/15:20/80", "sequential", "stride:16".
--
-- zipf:THETA      block of rank k gets a share of 1 / k^THETA; 0 to 20, 0 is uniform
-- pareto:H        the first part H of the blocks gets the share 1 - H; between 0 and 1
-- normal:DEV      around the middle of the region, deviation in % of it; up to 100
-- zoned:A/S:...   A % of operations go to the next S % of the region; a missing number
--                 takes the rest
-- stride:N        every N-th block, then the same from the next one
--
-- The hot blocks of zipf and pareto are scattered over the region unless `scatter` is
-- false; those of normal and zoned lie where the text says unless it is true.
local nearest = require "iolua.nearest"
local shares = require "iolua.shares"

local distribution = {}

local THETA_MAX = 20            -- DIST_THETA_MAX of core/dist.h
local ZONES_MAX = 256           -- MIX_MAX of core/mix.h

-- Every kind: the text after the colon or nil -> specification | nil, message.
local parse = {}

local function plain(kind)
  return function(argument)
    if argument then return nil, ("%s takes no number"):format(kind) end
    return { kind = kind }
  end
end

parse.uniform = plain "uniform"
parse.random = plain "uniform"          -- fio's word
parse.sequential = plain "sequential"

-- The decimal number that a text is; not hexadecimal, infinite or with spaces.
local function decimal(text)
  return text and text:match("^%-?%d*%.?%d*[eE]?[%-+]?%d*$") and tonumber(text) or nil
end

local function numeric(kind, example, range, fits)
  return function(argument)
    local number = decimal(argument)
    if not number then return nil, ("%s needs a number, as in %q"):format(kind, example) end
    if not fits(number) then
      return nil, ("%s:%s is out of range: it must be %s"):format(kind, argument, range)
    end
    return { kind = kind, parameter = number + 0.0 }
  end
end

local zipf = numeric("zipf", "zipf:1.2", ("0 to %d"):format(THETA_MAX), function(theta)
  return theta >= 0 and theta <= THETA_MAX
end)

function parse.zipf(argument)
  local spec, message = zipf(argument)
  if spec and spec.parameter == 0 then return { kind = "uniform" } end
  return spec, message
end

parse.pareto = numeric("pareto", "pareto:0.2", "between 0 and 1", function(h)
  return h > 0 and h < 1
end)

parse.normal = numeric("normal", "normal:20", "over 0 and up to 100", function(deviation)
  return deviation > 0 and deviation <= 100
end)

function parse.stride(argument)
  local blocks = argument and argument:match("^%d+$") and math.tointeger(tonumber(argument))
  if not blocks then return nil, "stride needs a number of blocks, as in \"stride:16\"" end
  if blocks < 1 then return nil, "stride:0 is out of range: it must be 1 or more" end
  return { kind = "stride", stride = blocks }
end

-- "50" -> 50, "" -> false (takes the rest), anything else nil.
local function percentage(text)
  if text == "" then return false end
  return text:match("^%d+%.?%d*$") and tonumber(text) or nil
end

local function zones(argument)
  local access, size = {}, {}
  for zone in (argument .. ":"):gmatch("(.-):") do
    local a, s = zone:match("^([^/]*)/?([^/]*)$")
    a, s = a and percentage(a), s and percentage(s)
    if a == nil or s == nil or zone == "" then
      return nil, ("%q is not a zone; write ACCESS/SIZE in per cent"):format(zone)
    end
    access[#access + 1], size[#size + 1] = a, s
  end
  return access, size
end

function parse.zoned(argument)
  if not argument then return nil, "zoned needs zones, as in \"zoned:60/10:30/20:10/70\"" end
  local access, size = zones(argument)
  if not access then return nil, size end
  if #access > ZONES_MAX then
    return nil, ("zoned has %d zones; %d is the most"):format(#access, ZONES_MAX)
  end
  local message
  access, message = shares.complete(access)
  if not access then return nil, "zoned: access " .. message end
  size, message = shares.complete(size)
  if not size then return nil, "zoned: size " .. message end
  return { kind = "zoned", access = access, size = size }
end

--- The table that the core takes (core.spot, and the field `distribution` of a worker).
---@param text string
---@param scatter? boolean  hot blocks lie all over the region; default: zipf and pareto do
---@return table? specification  kind, and parameter, stride, or access and size; scatter
---@return string? message
function distribution.parse(text, scatter)
  if type(text) ~= "string" then
    return nil, ("%s is not a distribution"):format(tostring(text))
  end
  local kind, argument = text:match("^([^:]*):(.*)$")
  local reader = parse[kind or text]
  if not reader then
    return nil, ("%q is not a distribution%s"):format(text,
      nearest.hint(kind or text, nearest.keys(parse)))
  end
  local spec, message = reader(argument)
  if not spec then return nil, message end
  if scatter == nil then scatter = spec.kind == "zipf" or spec.kind == "pareto" end
  spec.scatter = scatter
  return spec
end

return distribution
