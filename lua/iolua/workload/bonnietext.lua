--- bonnie's result in its columns, as 1.03 prints them, with the latencies of 2.00.
local text = {}

local FILE = { "putc", "block_write", "rewrite", "getc", "block_read", "seeks" }
local NAMES = { "seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete" }

local FILE_HEAD = [[
Version %-10.10s  ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %%CP K/sec %%CP K/sec %%CP K/sec %%CP K/sec %%CP  /sec %%CP
]]
local NAMES_HEAD = [[
Version %-10.10s  ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %%CP  /sec %%CP  /sec %%CP  /sec %%CP  /sec %%CP  /sec %%CP
]]

local function pair(e)
  if not e then return (" "):rep(10) end
  if e.too_short then return " +++++ +++" end
  local rate = e.bytes_per_s and e.bytes_per_s / 1024 or e.per_s
  local form = e.per_s and e.per_s < 999.95 and " %5.1f %3.0f" or " %5.0f %3.0f"
  return form:format(rate, e.cpu_percent or 0)
end

local function latency(e)
  local ns = e and e.latency_max_ns
  if not ns then return "" end
  if ns > 99999999000 then return ("%ds"):format(ns // 1000000000) end
  if ns > 99999000 then return ("%dms"):format(ns // 1000000) end
  return ("%dus"):format(ns // 1000)
end

local function latencies(r, names)
  local parts = { ("Latency          ") }
  for _, name in ipairs(names) do parts[#parts + 1] = ("%10s"):format(latency(r[name])) end
  return table.concat(parts) .. "\n"
end

local function row(head, r, names)
  local parts = { ("%-19s"):format(head) }
  for _, name in ipairs(names) do parts[#parts + 1] = pair(r[name]) end
  return table.concat(parts):gsub("%s+$", "") .. "\n"
end

local function size(bytes)
  if bytes % (1 << 30) == 0 then return ("%dG"):format(bytes >> 30) end
  if bytes % (1 << 20) == 0 then return ("%dM"):format(bytes >> 20) end
  return ("%dK"):format(bytes >> 10)
end

-- One copy.
local function one(r)
  local parts = {}
  if r.size_bytes then
    parts[1] = FILE_HEAD:format(r.version) .. row(("%-14.14s %4s"):format(r.name, size(r.size_bytes)),
      r, FILE) .. latencies(r, FILE)
  end
  if r.files then
    local f = r.files
    local what = f.max_bytes > 0 and ("%d:%d:%d/%d"):format(f.count // 1024, f.max_bytes,
      f.min_bytes, f.dirs) or tostring(f.count // 1024)
    parts[#parts + 1] = NAMES_HEAD:format(r.version) .. row(("%19s"):format(what), r, NAMES)
      .. latencies(r, NAMES)
  end
  return table.concat(parts)
end

--- As bonnie++ prints it; of several copies one after another.
---@param r table
---@return string
function text.run(r)
  local parts = {}
  for i, copy in ipairs(r.copies or { r }) do parts[i] = one(copy) end
  return table.concat(parts, "\n")
end

return text
