--- iozone's first three tests: write and rewrite, read and reread, random read and write.
--
-- For each file size and record size, both doubled from their least to their most; a record is
-- not larger than its file. Files above 16 MiB use records of 64 KiB and more unless `small`.
-- fsync is outside the time unless `include_fsync`. Random places may repeat.
local base = require "iolua.workload.base"
local schema = require "iolua.schema"

local iozone = {}

local TESTS = { "write", "rewrite", "read", "reread", "random_read", "random_write" }
local RW = { write = "write", rewrite = "write", read = "read", reread = "read",
             random_read = "randread", random_write = "randwrite" }
local CROSSOVER, LARGE_RECORD = 16 << 20, 64 << 10

local OPTIONS = {
  dir = { type = "path", default = ".", help = "folder of the file" },
  min_file = { type = "size", default = "64k", min = 1024, help = "-n" },
  max_file = { type = "size", default = "512m", min = 1024, help = "-g" },
  min_record = { type = "size", default = "4k", min = 1024, help = "-y" },
  max_record = { type = "size", default = "16m", min = 1024, help = "-q" },
  small = { type = "boolean", default = false, help = "-z: small records of large files too" },
  include_fsync = { type = "boolean", default = false, help = "-e" },
  direct = { type = "boolean", default = false, help = "-I" },
  seed = { type = "integer", default = 1, min = 0, help = "of random places" },
}

local function one_test(name, f, row, o)
  local writing = RW[name]:find("write") ~= nil
  local r, message, errno = base.sync { target = f, rw = RW[name], bs = row.record_bytes,
    size = row.file_bytes, seed = o.seed, end_fsync = writing or nil }
  if not r then return nil, ("iozone %s: %s"):format(name, message), errno end
  local side = writing and r.write or r.read
  local seconds = o.include_fsync and base.seconds(r) or (r.elapsed_ns or 0) / 1e9
  return { bytes_per_s = seconds > 0 and side.bytes / seconds or nil, ios = side.ios, lat = side.lat }
end

local function one_row(file_bytes, record, o)
  local f <close>, message, errno = base.scratch(o.dir, o.direct)
  if not f then return nil, "iozone: " .. message, errno end
  local row = { file_bytes = file_bytes // record * record, record_bytes = record }
  for _, name in ipairs(TESTS) do
    row[name], message, errno = one_test(name, f, row, o)
    if not row[name] then return nil, message, errno end
  end
  return row
end

--- The file and record sizes of a run, in order.
---@param o table  checked options
---@return { [1]: integer, [2]: integer }[]
function iozone.plan(o)
  local list, size = {}, o.min_file
  while size <= o.max_file do
    local record = o.min_record
    if size > CROSSOVER and not o.small then record = math.max(record, LARGE_RECORD) end
    while record <= math.min(o.max_record, size) do
      list[#list + 1] = { size, record }
      record = record * 2
    end
    size = size * 2
  end
  return list
end

--- Run it.
---@param options table
---@return table? rows  { file_bytes, record_bytes, write = { bytes_per_s }, ... }
---@return string? message
---@return integer? errno
---@async
function iozone.run(options)
  local o, rows = schema.check(OPTIONS, options, 2, "iozone"), {}
  for i, sizes in ipairs(iozone.plan(o)) do
    local row, message, errno = one_row(sizes[1], sizes[2], o)
    if not row then return nil, message, errno end
    rows[i] = row
  end
  return rows
end

local HEAD = ("%58srandom    random\n%16s%8s%9s%9s%9s%9s%9s%9s\n"):format("", "kB", "reclen", "write",
  "rewrite", "read", "reread", "read", "write")

--- As iozone -a prints it.
---@param rows table
---@return string
function iozone.text(rows)
  local lines = { HEAD }
  for _, row in ipairs(rows) do
    local cells = { ("%16d%8d"):format(row.file_bytes // 1024, row.record_bytes // 1024) }
    for _, name in ipairs(TESTS) do
      cells[#cells + 1] = ("%9d"):format(math.floor((row[name].bytes_per_s or 0) / 1024))
    end
    lines[#lines + 1] = table.concat(cells) .. "\n"
  end
  lines[#lines + 1] = "\niozone test complete.\n"
  return table.concat(lines)
end

return setmetatable(iozone, { __call = function(_, options) return iozone.run(options) end })
