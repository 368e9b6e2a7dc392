--- fio job files: read, run by iolua.job, or printed as the Lua script that does the same.
--
-- What is not supported is named, each option with its line, and the job is refused: a job
-- that silently did less would be compared with one that did more.
local convert = require "iolua.fio.convert"
local job_options = require "iolua.job.options"
local parse = require "iolua.fio.parse"
local plan = require "iolua.fio.plan"

local fio = {}

local function read_file(path)
  local f <close>, message = io.open(path)
  if not f then return nil, message end
  return f:read("a")
end

-- An included file is looked for beside the one that names it, then here.
local function read_included(path, from)
  local folder = from:match("^(.*/)[^/]*$")
  local text = folder and path:sub(1, 1) ~= "/" and read_file(folder .. path)
  if text then return text end
  return read_file(path)
end

local function keywords()
  local topo = require("iolua.core").place
  local cpus = topo and topo.cpus and select(2, pcall(topo.cpus))
  local n = type(cpus) == "table" and cpus.online and #cpus.online or nil
  return { pagesize = 4096, ncpus = n }
end

--- The jobs of a file, and what of it is not supported.
---@param path string
---@return table? jobs
---@return table|string refused  a list of { job, key, value, line, why }; or the message
function fio.load(path)
  local text, message = read_file(path)
  if not text then return nil, "fio: " .. message end
  local sections, why = parse.text(text, { path = path, env = os.getenv, read = read_included,
    keywords = keywords() })
  if not sections then return nil, "fio: " .. why end
  if #sections == 0 then return nil, ("fio: %s has no job"):format(path) end
  return plan.jobs(sections, job_options)
end

--- The sentences of what is refused.
---@param refused table
---@return string[]
function fio.sentences(refused)
  local list, told = {}, {}
  for _, r in ipairs(refused) do
    local sentence = plan.sentence(r)
    if not told[sentence] then list[#list + 1] = sentence end   -- [global] is every job's
    told[sentence] = true
  end
  return list
end

--- The Lua script that does what the jobs do.
---@param jobs table
---@param path string  named in its first line
---@param refused? table
---@return string
function fio.convert(jobs, path, refused)
  return convert.text(jobs, path, refused)
end

--- Run a job file. Unsupported options refuse it unless `anyway`.
---@param path string
---@param may? { anyway: boolean?, overwrite: boolean?, destroy: string? }
---@return table? list  { job, results } in the file's order
---@return string? message
---@return integer? errno
---@async
function fio.run(path, may)
  may = may or {}
  local jobs, refused = fio.load(path)
  if not jobs then return nil, refused, 22 end
  if #refused > 0 and not may.anyway then
    return nil, "fio: not supported:\n  " .. table.concat(fio.sentences(refused), "\n  "), 95
  end
  return require("iolua.fio.run").jobs(jobs, may)
end

return fio
