--- The thrashing arm: many streams in less memory than their windows need. What is read ahead
--- is dropped before it is used, and read again.
local iolua = require "iolua"
local patterns = require "readahead.patterns"
local values = require "readahead.values"

local thrash = {}

local LEAST = 4 << 20

-- The volume, where there is one: it is the larger.
local function layer_of(ctx) return ctx.layers[ctx.names[#ctx.names]] end

-- Half of what is read, in whole MiB: 16 windows that cover all of it do not fit.
local function memory_of(layer)
  return math.max(LEAST, layer.span // 2 >> 20 << 20)
end

--- Run it on a layer: result and memory, or nil and what is missing.
function thrash.run(ctx)
  local layer, opt = layer_of(ctx), ctx.opt
  local bytes = memory_of(layer)
  if bytes >= layer.span then return nil, "what is read fits in the least memory, 4 MiB" end
  local bound <close>, message = iolua.memory.bound(bytes)
  if not bound then return nil, message end
  local result = ctx.experiment("thrash", {
    factors = { value = opt.values }, metrics = { "MB_per_s", "amplification", "refaults" },
    gates = { values.gate, memory_pressure_percent = false },
    setup = function(case)
      return values.setup(ctx, layer, iolua.units.bytes(case.value) // 1024, case.value)
    end,
    measure = function(_, c, run)
      local before = bound:refaults()
      local v, why = values.measure(c, patterns.in_turn, run)
      if not v then return nil, why end
      v.refaults = before and bound:refaults() - before
      return v
    end,
  })
  return result, bytes
end

local function first_that_thrashes(ctx, result)
  for _, value in ipairs(ctx.opt.values) do
    local x = values.mean(result, { value = value }, "amplification")
    if x and x > 1.1 then return value, x, values.mean(result, { value = value }, "refaults") end
  end
end

--- What is to be shown of it.
function thrash.lines(ctx, result, bytes)
  local layer = layer_of(ctx)
  local lines = { ("thrashing: %s, 16 streams in turn over %s, in %s of memory"):format(
    ctx.names[#ctx.names], iolua.units.format_bytes(layer.span), iolua.units.format_bytes(bytes)),
    ("%-13s%12s%16s%16s"):format("value", "MB/s", "bytes a byte", "pages re-read") }
  for _, value in ipairs(ctx.opt.values) do
    local at, cells = { value = value }, {}
    for i, metric in ipairs { "MB_per_s", "amplification", "refaults" } do
      cells[i] = values.number(values.mean(result, at, metric))
    end
    lines[#lines + 1] = ("%-13s%12s%16s%16s"):format(value, table.unpack(cells))
  end
  local value, x, pages = first_that_thrashes(ctx, result)
  lines[#lines + 1] = value
    and ("from %s on: pages are dropped before they are used and read again (%s pages), "
      .. "%s bytes for each byte asked"):format(value, values.number(pages), values.number(x))
    or "no value reads anything twice: the windows fit"
  return table.concat(lines, "\n")
end

return thrash
