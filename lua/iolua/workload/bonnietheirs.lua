--- bonnie++ itself, n copies in step by its own semaphores (-p, -y s), read by our reader.
local reader = require "iolua.program.bonnie"
local run = require "iolua.run"
local schema = require "iolua.schema"

local theirs = {}

local OPTIONS = {
  dir = { type = "any", default = ".", help = "folder, or a function of the copy" },
  size = { type = "size", default = 0, help = "-s; 0: none" },
  files = { type = "string", help = "-n as bonnie++ takes it: \"16:0:0:1\"" },
  fast = { type = "boolean", default = true, help = "-f: no tests byte by byte" },
  fsync = { type = "boolean", default = false, help = "-b" },
  direct = { type = "boolean", default = false, help = "-D" },
  copies = { type = "integer", default = 1, min = 1, max = 1024, help = "at once" },
  together = { type = "boolean", default = true, help = "copies start each test together" },
  cpus = { type = "any", help = "as iolua.run takes them" },
  timeout = { type = "duration", help = "as iolua.run takes it" },
}

-- bonnie++ will not run as root without being told who it is.
local function user()
  local status <close> = io.open("/proc/self/status")
  return status and status:read("a"):match("\nUid:%s+(%d+)") == "0" and "root"
end

local function words(o, in_step)
  local list = { "bonnie++", "-d", o.dir, "-r", "0", "-m", "iolua", "-s",
    ("%d"):format(o.size >> 20), "-n", o.files or "0" }
  local function add(word, value) list[#list + 1], list[#list + 2] = word, value end
  if o.fast then add("-f") end
  if o.fsync then add("-b") end
  if o.direct then add("-D") end
  if user() then add("-u", "root") end
  if in_step then add("-y", "s") end
  list.copies, list.cpus, list.timeout = o.copies, o.cpus, o.timeout
  return list
end

-- The semaphores, removed on every way out.
local function semaphores(n)
  local who = user()
  local function set(count, check)
    local list = { "bonnie++", "-p", count, check = check }
    if who then list[4], list[5] = "-u", who end
    return run(list)
  end
  local r, message, errno = set(("%d"):format(n), true)
  if not r then return nil, message, errno end
  return setmetatable({}, { __close = function() set("-1", false) end })
end

--- Run it.
---@param options table
---@return table? result  copies: a list as iolua.program.bonnie.read gives it; run: of iolua.run
---@return string? message
---@return integer? errno
---@async
function theirs.run(options)
  local o = schema.check(OPTIONS, options, 3, "bonnie.program")
  if o.size % (1 << 20) ~= 0 then error("bonnie.program: size is in whole MiB", 3) end
  local in_step = o.copies > 1 and o.together
  local set, why, code
  if in_step then
    set, why, code = semaphores(o.copies)
    if not set then return nil, why, code end
  end
  local _ <close> = set
  local ran, message, errno = run(words(o, in_step))
  if not ran then return nil, message, errno end
  local r = { run = ran, copies = {} }
  for i, copy in ipairs(ran.copies) do
    r.copies[i], message = reader.read(copy.out)
    if not r.copies[i] then return nil, message, 22 end
  end
  return r
end

return theirs
