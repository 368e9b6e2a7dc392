--- bonnie++'s line of CSV: 50 fields since 1.97, 27 in 1.03; and how it prints numbers.
local text = require "iolua.program.text"

local csv = {}

local TESTS = { "putc", "block_write", "rewrite", "getc", "block_read", "seeks", "seq_create",
                "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete" }
local BYTES = { putc = true, block_write = true, rewrite = true, getc = true, block_read = true }
local SCALE = { [""] = 1, k = 1, m = 1024, g = 1024 * 1024 }        -- in KiB
local SIZE = { [""] = 1, K = 2^10, k = 2^10, M = 2^20, m = 2^20, G = 2^30, g = 2^30, T = 2^40 }

--- One test from its two words, or nil when they make no sense.
function csv.entry(name, rate, cpu)
  local short = rate:find("^%++$") ~= nil
  local number, suffix = rate:match("^([%d.]+)([kmg]?)$")
  local percent = text.number(cpu)
  if not (percent or cpu:find("^%++$") or cpu == "") then return nil end
  if not (short or text.number(number)) then return nil end
  if short then return { too_short = true, cpu_percent = percent } end
  if BYTES[name] then
    return { bytes_per_s = tonumber(number) * SCALE[suffix] * 1024, cpu_percent = percent }
  end
  return { per_s = tonumber(number) * (suffix == "k" and 1000 or 1), cpu_percent = percent }
end

--- "216ms" as ns.
function csv.latency(word)
  local number, unit = word:match("^(%d+)([mun]?s)$")
  return number and text.ns(number, unit)
end

--- "16M", "16g" or "8192" as bytes.
function csv.size(word)
  local number, suffix = word:match("^([%d.]+)([KkMmGgT]?)$")
  number = text.number(number)
  return number and math.tointeger(number * SIZE[suffix]) or nil
end

--- "64:65536:1024/16" (in units of 1024 files) into r.files. False when it does not fit.
function csv.files(word, r)
  local count, sizes, dirs = word:match("^(%d+)([:%d]*)/?(%d*)$")
  count = text.count(count)
  if not count then return false end
  local n = {}
  for size in sizes:gmatch(":(%d+)") do n[#n + 1] = text.count(size) end
  r.files = { count = count * 1024, max_bytes = n[1] or 0,
    min_bytes = n[2] or n[1] or 0, dirs = text.count(dirs) or 1 }
  return true
end

local function split(line)
  local list = {}
  for field in (line .. ","):gmatch("([^,]*),") do list[#list + 1] = field end
  return list
end

--- Is this a line of CSV?
function csv.is(line)
  local _, commas = line:gsub(",", "")
  return commas >= 20 and not line:find("format_version", 1, true)
end

-- Pairs of the named tests from field `at` on into r. False when one does not fit.
local function pairs_from(field, at, from, to, r)
  for i = from, to do
    local rate, cpu = field[at + 2 * (i - from)], field[at + 2 * (i - from) + 1]
    local entry = rate ~= "" and csv.entry(TESTS[i], rate, cpu)
    if entry == nil then return false end
    r[TESTS[i]] = entry or nil
  end
  return true
end

local function read_103(f)
  local r = { version = "1.03", name = f[1] }
  r.size_bytes = csv.size(f[2]:match("^[^:]*"))
  if not r.size_bytes then return nil end
  if f[15] ~= "" and not csv.files(f[15], r) then return nil end
  return pairs_from(f, 3, 1, 6, r) and pairs_from(f, 16, 7, 12, r) and r or nil
end

local function latencies(f, r)
  for i, name in ipairs(TESTS) do
    local word = f[38 + i]
    local ns = word ~= "" and csv.latency(word)
    if ns == nil then return false end
    if r[name] then r[name].latency_max_ns = ns or nil end
  end
  return true
end

local function read_197(f)
  local r = { format = f[1], version = f[2], name = f[3], concurrency = text.count(f[4]),
    seed = f[5], size_bytes = csv.size(f[6]), seekers = text.count(f[9]) }
  r.chunk_bytes = f[7] ~= "" and csv.size(f[7]) or (r.size_bytes and 8192)
  r.seeks_done = text.count(f[8])
  if f[22] ~= "" then
    local dirs = f[25] ~= "" and f[25] or f[26]     -- 2.00a prints it one field late
    r.files = { count = (text.count(f[22]) or 0) * 1024, max_bytes = text.count(f[23]) or 0,
      min_bytes = text.count(f[24]) or 0, dirs = text.count(dirs) or 1 }
  end
  if not (r.size_bytes or r.files) then return nil end
  return pairs_from(f, 10, 1, 6, r) and pairs_from(f, 27, 7, 12, r) and latencies(f, r) and r
    or nil
end

--- The result in a line of CSV; nil when it is not one of the two kinds.
---@param line string
---@return table?
function csv.read(line)
  local fields = split(line)
  if #fields == 50 then return read_197(fields) end
  if #fields == 27 then return read_103(fields) end
  return nil
end

return csv
