-- Parsers of outside text in Lua under mutated seeds: a value or nil and a message, never an
-- error that is raised. (The C parsers have libFuzzer: tests/fuzz.)
local t = require "check"
local units = require "iolua.units"
local distribution = require "iolua.distribution"
local sizes = require "iolua.job.sizes"
local json = require "iolua.report.json"
local fio = require "iolua.fio.parse"

local ROUNDS = (os.getenv("FULL") or "") ~= "" and 200000 or 3000

local SEEDS = {
  { "units.bytes", units.bytes, { "4k", "1.5M", "0x1000", "70kB", "16 MiB", "1e3", "-1" } },
  { "units.ns", units.ns, { "1.5s", "200ms", "10us", "2h", "1m30s", "5" } },
  { "units.rate", units.rate, { "70MB/s", "320m", "1.5 GiB/s" } },
  { "distribution.parse", distribution.parse,
    { "zipf:1.2", "pareto:0.2", "normal:10", "zoned:60/10:40/90", "stride:64k", "uniform" } },
  { "sizes.parse", sizes.parse, { "4k", "4k-64k", "512-1m", "8k-4k" } },
  { "fio.parse.text", function(text) return fio.text(text) end,
    { "[global]\nrw=randread\nbs=4k\n[job1]\nfilename=/dev/null\n", "[a]\n; note\nbs=4k,8k\n",
      "iodepth=1\n[b]\nsize=50%\n" } },
  { "json.decode", json.decode, { '{"a":[1,2.5,null,"x\\n"],"b":{}}', "[]", '"\\u00e9"', "-1e9" } },
}

local BYTES = "0123456789kKmMgGtTiBs.:/-+,= \n\t\0\"\\{}[]%xXeE\255"

-- One of: a byte changed, one taken out, one put in, a piece doubled, the end cut off.
local function mutate(text)
  local at = math.random(0, #text)
  local byte = math.random(#BYTES)
  local one, kind = BYTES:sub(byte, byte), math.random(5)
  if kind == 1 then return text:sub(1, at) .. one .. text:sub(at + 2) end
  if kind == 2 then return text:sub(1, at) .. text:sub(at + 2) end
  if kind == 3 then return text:sub(1, at) .. one .. text:sub(at + 1) end
  if kind == 4 then return text .. text:sub(at) end
  return text:sub(1, at)
end

local function longer_than(text, limit) return #text > limit end

for i, case in ipairs(SEEDS) do
  local name, parse, seeds = table.unpack(case)
  t.case(name .. " never raises", function()
    math.randomseed(i)
    local text = seeds[1]
    for round = 1, ROUNDS do
      if round % 8 == 1 or longer_than(text, 200) then text = seeds[math.random(#seeds)] end
      text = mutate(text)
      local ok, value, message = pcall(parse, text)
      if not ok then error(("%s(%q) raised %s"):format(name, text, value), 0) end
      if value == nil and name ~= "json.decode" then
        t.equal(type(message), "string", ("message for %q"):format(text))
      end
    end
  end)
end

t.done()
