-- Every number that a job may be told, with values that it cannot be: a sentence of the job that
-- names the option, or a job that runs; never one of the core's own refusals.
local iolua = require "iolua"
local spec = require "iolua.job.options"
local t = require "check"

local VALUES = { -1, 0, 1, 1.5, 2^31, 4294967297, 2^53, 1e30, math.maxinteger, math.mininteger,
  0/0, math.huge, -math.huge, "x", "", "-1", "1e30", "12345678901234567890", {}, true, print }
-- What an option makes sense with; and more places of numbers than the table of options has.
local WITH = {
  thinktime = { runtime = "1ms" }, thinktime_blocks = { thinktime = "1ms" },
  backlog = { rate_iops = 1000 },
  bs_max = { next = function() return true end }, ramp_time = { runtime = math.maxinteger },
  offset = { size = math.maxinteger }, io_size = { bs = "4k-8k" },
}

local function numeric(entry)
  return ("integer number size duration"):find((entry.type or "x"), 1, true) ~= nil
end

local function show(value) return math.type(value) and tostring(value) or iolua.show(value) end

-- What the job says to o, if anything; must be a sentence about the option.
local function said(o, option, value, raises)
  local ok, r, message = pcall(iolua.job, o)
  local what = ("%s = %s: %s"):format(option, show(value), tostring(ok and message or r))
  if ok and r then return end
  local text = ok and message or r
  t.ok(type(text) == "string", what)
  t.ok(not text:find("bad argument", 1, true), what)
  if not ok then t.ok(text:find("job: ", 1, true) and text:find(option, 1, true), what) end
  t.ok(not raises or not ok, what .. ": is not refused")
end

local function options(option, value, real)
  local o = { target = real and "/dev/zero" or iolua.sim.device { size = "1m" },
    rw = real and "read" or "randrw", number_ios = 2, seed = 1 }
  for key, with in pairs(WITH[option] or {}) do o[key] = with end
  if option == "number_ios" then o.runtime = "1ms" end
  o[option] = value
  return o
end

for option, entry in pairs(spec) do
  if numeric(entry) then
    t.case(("%s takes a number that it can be, or says why not"):format(option), function()
      for _, value in ipairs(VALUES) do
        local never = value ~= value or type(value) == "table" or type(value) == "function"
          or type(value) == "boolean" or value == "x" or value == ""
        said(options(option, value, false), option, value, never)
        said(options(option, value, true), option, value, never)
      end
    end)
  end
end

t.case("numbers inside of tables: the node of the memory, the CPU of the ring's thread", function()
  for _, value in ipairs(VALUES) do
    local target = iolua.sim.device { size = "1m" }
    said({ target = target, rw = "read", number_ios = 1, mem = { node = value } }, "node", value)
    said({ target = target, rw = "read", number_ios = 1, ring = { sq_cpu = value } }, "sq_cpu",
      value)
  end
end)

t.case("a region beyond the end of all files is refused", function()
  for _, size in ipairs { 4096, math.maxinteger, false } do
    local r, message = iolua.job { target = "/dev/null", rw = "write", overwrite = true,
      offset = math.maxinteger - 1000, size = size or nil, number_ios = 1 }
    t.equal(r, nil)
    t.contains(message, "job: a region that begins at 9223372036854774807 and has "
      .. ("%d bytes ends beyond 9223372036854775807"):format(size or 1 << 30))
  end
end)

t.case("a refusal names the value, the rule and the nearest right one", function()
  local target = iolua.sim.device { size = "1m" }
  for _, option in ipairs { "fsync", "fdatasync", "thinktime_blocks" } do
    local o = { target = target, rw = "write", thinktime = "1ms", [option] = math.maxinteger }
    local low = option == "thinktime_blocks" and 1 or 0
    t.raises(("%s = 9223372036854775807 is out of range: it must be %d to 2147483647; the nearest "
      .. "is 2147483647"):format(option, low), iolua.job, o)
  end
end)

t.done()
