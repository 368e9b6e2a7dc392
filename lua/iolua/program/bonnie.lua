--- What bonnie++ 1.03, 1.97 and 2.00 print: their tables, and the lines of CSV; and the table
--- of Bonnie, from which they come.
--
-- K is 1024 bytes. A latency is the longest single operation. `+++++` means that the test was
-- too short to say: its entry is { too_short = true }; a test that was not run has no entry.
-- Where the output has the CSV line it is read, else the tables. The tables of 1.98 and later
-- print their create rates wrongly (a float through an integer's format): those are left out.
local csv = require "iolua.program.bonniecsv"
local text = require "iolua.program.text"

local bonnie = {}

local FILE = { "putc", "block_write", "rewrite", "getc", "block_read", "seeks" }
local NAMES = { "seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete" }
local START, WIDTH = 19, 10             -- columns before the first test, and of each

-- Cut one test's pair off the line at column `at` (0-based). Fields are printed with a least
-- width, so a wide number moves those after it. rate, cpu, column after; nil: left blank;
-- false: does not fit.
local function pair(line, at)
  if not line:sub(at + 1, at + 6):find("%S") then return nil, nil, at + WIDTH end
  local rate, cpu, after = line:match("^ *(%S+) +(%S+)()", at + 1)
  if not rate then return false end
  return rate, cpu, after - 1
end

-- The pairs of a row from column START on, into r under the names. False: does not fit.
local function tests(line, first, names, r)
  local at = math.max(START, first)
  for _, name in ipairs(names) do
    if at < #line then
      local rate, cpu, after = pair(line, at)
      local entry = rate and csv.entry(name, rate, cpu)
      if rate == false or (rate and not entry) then return false end
      r[name], at = entry, after
    end
  end
  return not line:find("%S", at + 1)
end

-- Latency               216ms   54103us ...: right-aligned below the pairs.
local function latencies(line, names, r)
  for i, name in ipairs(names) do
    local from = START - 2 + WIDTH * (i - 1)
    local word = line:sub(from + 1, from + WIDTH):match("%S+")
    local ns = word and csv.latency(word)
    if word and not ns then return false end
    if ns and r[name] then r[name].latency_max_ns = ns end
  end
  return true
end

-- name  size[:chunk]  pairs
local function file_row(line, r)
  local name, size, after = line:match("^(%S+) +([%d.]+[KMGT]?[:%w]*)()")
  if not name then return false end
  r.name, r.size_bytes = name, csv.size(size:match("^[^:]+"))
  local chunk = size:match(":(.+)$")
  r.chunk_bytes = chunk and csv.size(chunk)
  return r.size_bytes ~= nil and tests(line, after - 1, FILE, r)
end

--   64:65536:1024/16  pairs
local function name_row(line, r)
  local files, after = line:match("^ *(%d[%d:/]*)()")
  if not files or not csv.files(files, r) then return false end
  if not tests(line, after - 1, NAMES, r) then return false end
  if r.version and (tonumber(r.version:match("^%d+%.%d+")) or 0) >= 1.98 then
    for _, name in ipairs { "seq_create", "ran_create" } do
      if r[name] and not r[name].too_short then r[name] = nil end
    end
  end
  return true
end

-- One line of the tables. `part` is the table it belongs to: "file", "names" or nil.
-- Returns part, or nil and false for a line that does not fit.
local function table_line(line, part, r)
  if line:find("------Sequential Output------", 1, true) then
    r.version = line:match("^Version +(%S+)")
    return "file"
  elseif line:find("------Sequential Create------", 1, true) then return "names"
  elseif not part or line:find("%-Per Chr%-") or line:find("%-Create%-%-") then return part
  elseif line:find("^Machine ") or line:find("^Name:Size") or line:find("^files:max") then
    return part
  elseif line:find("^Latency ") then
    return part, latencies(line, part == "file" and FILE or NAMES, r)
  elseif line:find("%S") then
    return part, (part == "file" and file_row or name_row)(line, r)
  end
  return part
end

local function read_tables(lines)
  local r, part = {}, nil
  for i, line in ipairs(lines) do
    local fits
    part, fits = table_line(line, part, r)
    if fits == false then return text.refuse("bonnie++", i, line) end
  end
  if not r.size_bytes and not r.files then
    return text.refuse("bonnie++", #lines, nil, "neither a table nor a line of CSV")
  end
  return r
end

-- Bonnie's row: an optional name, MB, and six pairs, all apart.
local function bonnie_row(line)
  local words, r = {}, { version = "Bonnie" }
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  if #words == 14 then r.name = table.remove(words, 1) end
  local megabytes = math.tointeger(words[1])
  if #words ~= 13 or not megabytes then return nil end
  r.size_bytes = megabytes << 20
  for i, name in ipairs(FILE) do
    r[name] = csv.entry(name, words[2 * i], words[2 * i + 1])
    if not r[name] then return nil end
  end
  return r
end

-- The line after Bonnie's third line of headings, if that is in the output.
local function read_bonnie(lines)
  for i, line in ipairs(lines) do
    if line:find("^Machine +MB K/sec %%CPU") then
      local row = lines[i + 1]
      local r = row and bonnie_row(row)
      if r then return r end
      return text.refuse("bonnie", i + 1, row)
    end
  end
end

--- One run: the first line of CSV in the output, or its tables.
---@param output string
---@return table? result  size_bytes, chunk_bytes, version, name; putc, block_write, rewrite,
---  getc, block_read: { bytes_per_s, cpu_percent, latency_max_ns }; seeks and the tests of
---  names (seq_create, seq_stat, seq_delete, ran_...): { per_s, cpu_percent, latency_max_ns };
---  files: { count, max_bytes, min_bytes, dirs }
---@return string? message
function bonnie.read(output)
  local lines = text.lines(output)
  for i, line in ipairs(lines) do
    if csv.is(line) then
      local r = csv.read(line)
      if r then return r end
      return text.refuse("bonnie++", i, line)
    end
  end
  local r, message = read_bonnie(lines)
  if r or message then return r, message end
  return read_tables(lines)
end

return bonnie
