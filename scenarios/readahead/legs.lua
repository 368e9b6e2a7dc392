--- The control: a volume's own read-ahead counts, that of its members does not. Both are set
--- crosswise; counted is how far the members were read when 1 MiB of the volume was, in order.
local iolua = require "iolua"
local values = require "readahead.values"

local legs = {}

local ASKED = 1 << 20
local SETS = { "128k", "8m" }

local function read_a_little(c)
  local r, message = iolua.job { target = c.open.target, rw = "read", bs = "16k", engine = "sync",
    iodepth = 1, offset = c.base, size = ASKED }
  if not r then return nil, message end
  return { bytes = r.read.bytes, ns = r.elapsed_ns, p99_ns = r.read.lat:percentile(99) }
end

--- Run it: the result, or nil and what is missing.
function legs.run(ctx)
  local layer = ctx.layers.volume
  if not layer then return nil, "no volume is measured" end
  if not layer.kernel then return nil, "a volume in user space has no read-ahead of its own" end
  if #layer.legs == 0 then return nil, layer.text .. " has no members that can be seen" end
  local found = iolua.settings.get(layer.legs[1]).read_ahead_kb
  local result = ctx.experiment("legs", {
    factors = { volume = SETS, members = SETS }, order = { "volume", "members" },
    metrics = { "amplification", "request_kib" }, gates = { values.gate },
    setup = function(case)
      local taken, message = layer:set_legs(iolua.units.bytes(case.members) // 1024)
      if not taken then return nil, message end
      return values.setup(ctx, layer, iolua.units.bytes(case.volume) // 1024, case.volume)
    end,
    measure = function(_, c)
      local v, message = values.measure(c, read_a_little, { seed = 0 })       -- one place
      if not v then return nil, message end
      v.ahead_kib = (v.amplification - 1) * ASKED / 1024
      return v
    end,
  })
  layer:set_legs(found)
  return result
end

-- The largest share by which the other one's value moves what is read.
local function effect(result, factor, other)
  local most = 0
  for _, level in ipairs(SETS) do
    local list = {}
    for i, value in ipairs(SETS) do
      list[i] = values.mean(result, { [factor] = value, [other] = level }, "amplification")
    end
    if not (list[1] and list[2]) then return nil end
    most = math.max(most, math.abs(list[2] / list[1] - 1))
  end
  return most
end

--- What is to be shown of it.
function legs.lines(ctx, result)
  local lines = { ("volume or members: KiB read ahead of 1 MiB that was asked of %s"):format(
    ctx.layers.volume.text), ("%-13s%16s%16s"):format("volume", "members 128k", "members 8m") }
  for _, v in ipairs(SETS) do
    local line = ("%-13s"):format(v)
    for _, m in ipairs(SETS) do
      line = line .. ("%16s"):format(values.number(values.mean(result,
        { volume = v, members = m }, "ahead_kib")))
    end
    lines[#lines + 1] = line
  end
  local own, theirs = effect(result, "volume", "members"), effect(result, "members", "volume")
  if own and theirs then
    lines[#lines + 1] = own > 0.2 and theirs < 0.05
      and "the volume's own value counts; that of its members does nothing"
      or ("the volume's value moves what is read by %.0f %%, the members' by %.0f %%"):format(
        100 * own, 100 * theirs)
  end
  return table.concat(lines, "\n")
end

return legs
