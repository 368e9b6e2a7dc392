--- A plan as a Lua script that does the same with iolua.job.
local plan = require "iolua.fio.plan"
local units = require "iolua.units"

local convert = {}

-- The first line is put together, or the test of levels would take it for this file's own.
local HEAD = 'local iolua = require' .. ' "iolua"\n' .. [[
local files = require "iolua.fio.files"

local running, made = {}, {}

-- Start copies of a job, each in a fiber of its own, each on its path. A missing file is made;
-- one that exists is written only where overwrite = true is added to `need`.
local function start(name, paths, delay, need, options)
  running[#running + 1] = name
  running[name] = running[name] or {}
  for copy, path in ipairs(paths) do
    local file = assert(files.open(path, need, made))
    table.insert(running[name], iolua.spawn(function()
      iolua.sleep(delay)
      if not need.keep_cache then files.drop(file) end
      local o = { target = file, seed = options.seed + (copy - 1) * 1000003 }
      for key, value in pairs(options) do o[key] = o[key] or value end
      local r, message = iolua.job(o)
      files.close(file)
      return r, message
    end))
  end
end

-- Wait for a job's copies and print what each did.
local function wait(name)
  for copy, fiber in ipairs(running[name] or {}) do
    local r, message = fiber:join()
    if not r then error(("%s, copy %d: %s"):format(name, copy, message), 0) end
    for _, side in ipairs { "read", "write", "trim" } do
      if r[side] then
        print(("%s\t%d\t%s\t%.0f IOPS\t%.0f B/s\tp99 %s ns"):format(name, copy, side,
          r[side].iops or 0, r[side].bytes_per_s or 0, r[side].lat:percentile(99)))
      end
    end
  end
  running[name] = nil
end

local function wait_all()
  for _, name in ipairs(running) do wait(name) end
end
]]

local SIZES = { bs = true, size = true, io_size = true, offset = true, rate = true }
local TIMES = { runtime = true, ramp_time = true, thinktime = true }

local function sorted(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function literal(key, value)
  if type(value) == "table" then
    local parts = {}
    for _, k in ipairs(sorted(value)) do
      local shown = literal(k, value[k])
      if math.type(k) then parts[#parts + 1] = shown
      else
        local name = k:find("^[%a_][%w_]*$") and k or ("[%q]"):format(k)
        parts[#parts + 1] = name .. " = " .. shown
      end
    end
    return "{ " .. table.concat(parts, ", ") .. " }"
  end
  if SIZES[key] and math.type(value) == "integer" and value % 1024 == 0 and value > 0 then
    return ("%q"):format(units.format_size(value))
  elseif TIMES[key] and math.type(value) == "integer" and value % 1000000 == 0 then
    return value % 1000000000 == 0 and ('"%ds"'):format(value // 1000000000)
      or ('"%dms"'):format(value // 1000000)
  end
  return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

-- Options of a job as lines of at most 90 columns.
local function table_lines(o)
  local lines, line = {}, "   "
  for _, key in ipairs(sorted(o)) do
    local item = (" %s = %s,"):format(key, literal(key, o[key]))
    if #line + #item > 90 then lines[#lines + 1], line = line, "   " end
    line = line .. item
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function path_list(job)
  local parts = {}
  for i, path in ipairs(job.paths) do parts[i] = literal("path", path) end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- What iolua.fio.files needs to know of the job's file.
local function need_text(job)
  local o = job.o
  local parts = { ("direct = %s"):format(tostring(o.direct)) }
  if o.rw ~= "write" and o.rw ~= "randwrite" then parts[#parts + 1] = "read = true" end
  if job.keep_cache then parts[#parts + 1] = "keep_cache = true" end
  if plan.writes(job) then parts[#parts + 1] = "write = true" end
  if job.chunk then parts[#parts + 1] = ("chunk = %d"):format(job.chunk) end
  if o.size then
    parts[#parts + 1] = ("bytes = %d"):format(job.each_bytes or (o.offset or 0) + o.size)
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function without_direct(o)
  local copy = {}
  for key, value in pairs(o) do copy[key] = value end
  copy.direct = nil
  return copy
end

-- A text of the job file in a comment: it stays in its line, or it would be a part of the script.
local function comment(form, text)
  return "-- " .. form:format((text:gsub("%c", "?")))
end

local function job_text(job)
  local lines = { "\n" .. comment("[%s]", job.name) }
  for _, note in ipairs(job.notes) do lines[#lines + 1] = comment("%s", note) end
  if job.stonewall then lines[#lines + 1] = "wait_all()"
  elseif job.wait_for then lines[#lines + 1] = ("wait(%q)"):format(job.wait_for) end
  lines[#lines + 1] = ("start(%q, %s, %d,\n  %s, {"):format(job.name, path_list(job),
    job.delay_ns or 0, need_text(job))
  lines[#lines + 1] = table_lines(without_direct(job.o))
  lines[#lines + 1] = "})"
  return table.concat(lines, "\n")
end

--- The script.
---@param jobs table   of iolua.fio.plan
---@param from string  the job file's name, told in the first line
---@param refused? table  what it leaves out, told in comments
---@return string
function convert.text(jobs, from, refused)
  local parts = { comment("Made by iolua fio --convert %s\n", from) }
  for _, r in ipairs(refused or {}) do
    parts[#parts + 1] = comment("Left out: %s\n", plan.sentence(r))
  end
  parts[#parts + 1] = HEAD
  for _, job in ipairs(jobs) do parts[#parts + 1] = job_text(job) end
  parts[#parts + 1] = "\n\nwait_all()\n"
  return table.concat(parts)
end

return convert
