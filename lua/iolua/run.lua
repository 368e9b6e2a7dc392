--- Other people's programs as measured arms: placed, timed, ended with all they started.
--
-- `iolua.run { "bonnie++", "-d", dir, cpus = "0-3", timeout = "10min" }` waits in a fiber for
-- the program and tells what its whole tree of processes used. n copies run at once, released
-- when all are placed, or one after another. However iolua ends, they end: by SIGINT, SIGTERM
-- after half the grace and SIGKILL after it.
local core = require "iolua.core"
local device = require "iolua.run.device"
local fiber = require "iolua.fiber"
local packages = require "iolua.run.packages"
local schema = require "iolua.schema"

local run = {}

local ETIMEDOUT, ENOENT, EPIPE = 110, 2, 32

-- Of the named options, those marked may be a function of the copy's number.
local OPTIONS = {
  cpus = { type = "any", help = "CPUs: \"0-3\", {0, 1}, a cpuset, or a function of the copy" },
  node = { type = "any", help = "NUMA node its memory is on, or a function of the copy" },
  cgroup = { type = "any", help = "folder of an existing cgroup, or a function of the copy" },
  memory = { type = "size", min = 4 << 20,
    help = "what all copies may have and keep in the page cache, by a cgroup of their own" },
  dir = { type = "any", help = "folder to run in, or a function of the copy" },
  timeout = { type = "duration", min = 1000, help = "time it may take, then it is ended" },
  grace = { type = "duration", default = "1s", help = "from the first asking to SIGKILL" },
  copies = { type = "integer", default = 1, min = 1, max = 4096, help = "how many" },
  together = { type = "boolean", default = true,
    help = "all copies at once; false: one after another" },
  env = { type = "table", default = {}, help = "variables, such as { LC_ALL = \"C\" }" },
  input = { type = "string", default = "", help = "its standard input" },
  keep = { type = "string", help = "folder where its output is written too" },
  check = { type = "boolean", default = true,
    help = "an exit status other than 0 is a failure" },
  device = { type = "any", help = "path or file whose disk's transfers are counted" },
}

local function misuse(level, text, ...)
  error(("run: " .. text):format(...), level + 1)
end

-- Named options checked, and the program's words in o.argv.
local function parse(options, level)
  if type(options) ~= "table" then misuse(level + 1, "options must be a table") end
  local argv, named = {}, {}
  for key, value in pairs(options) do
    if math.type(key) ~= "integer" then named[key] = value end
  end
  for i, word in ipairs(options) do
    if type(word) ~= "string" and type(word) ~= "number" and type(word) ~= "function" then
      misuse(level + 1, "word %d is a %s, not a string, a number or a function", i, type(word))
    end
    if type(word) == "string" and word:find("\0", 1, true) then
      misuse(level + 1, "word %d has a zero byte, which no program can be given", i)
    end
    argv[i] = word
  end
  if type(argv[1]) ~= "string" or argv[1] == "" then
    misuse(level + 1, "the first word must be the program's name")
  end
  local o = schema.check(OPTIONS, named, level + 1, "run")
  o.argv = argv
  if o.memory and o.cgroup then misuse(level + 1, "memory makes a cgroup: cgroup names another") end
  return o
end

local function of_copy(value, i)
  if type(value) == "function" then return value(i) end
  return value
end

local function cpu_text(cpus, level)
  local ok, set = pcall(core.cpuset.new, cpus)
  if not ok then
    misuse(level + 1, "cpus: %s", tostring(set):match("^bad argument .- %((.*)%)$") or set)
  end
  if set:foreign() then misuse(level + 1, "cpus are of a topology that is not this machine") end
  return tostring(set)
end

local function environment(o, level)
  local list, given = {}, {}
  for key, value in pairs(o.env) do
    if type(key) ~= "string" or not key:find("^[^=\0]+$") then
      misuse(level + 1, "env: %q is not a variable's name", tostring(key))
    end
    if type(value) ~= "string" and type(value) ~= "number" or tostring(value):find("\0", 1, true) then
      misuse(level + 1, "env: %s is not a string without zero bytes, or a number", key)
    end
    given[key] = tostring(value)
  end
  given.LC_ALL = given.LC_ALL or "C"      -- numbers with a point, words that can be read
  for key, value in pairs(given) do list[#list + 1] = key .. "=" .. value end
  return list
end

-- What core.spawn.start needs for copy i.
local function plan(o, path, i, level)
  local argv, words = { path }, { ("grace=%d"):format(o.grace) }
  for k = 2, #o.argv do argv[k] = tostring(of_copy(o.argv[k], i)) end
  local cpus, node = of_copy(o.cpus, i), of_copy(o.node, i)
  if cpus ~= nil then words[#words + 1] = "cpus=" .. cpu_text(cpus, level + 1) end
  if node ~= nil then words[#words + 1] = ("node=%d"):format(node) end
  for _, key in ipairs { "cgroup", "dir" } do
    local value = of_copy(o[key], i)
    if value ~= nil then words[#words + 1] = key .. "=" .. tostring(value) end
  end
  return { argv = argv, words = words, env = environment(o, level + 1), input = o.input }
end

-- The program's next note; nil: no more will come; false: not before the deadline.
local function next_note(p, deadline)
  while true do
    local note = p:next()
    if note ~= false then return note end
    local left = deadline and deadline - core.clock.now()
    if left and left <= 0 then return false end
    fiber.wait_readable(p:fd(), left)
  end
end

-- Wait for the note of an event: note | nil, message, errno. After the deadline the program
-- is asked to end, once, and `late` is in its note.
local function await(p, event, deadline)
  local late
  while true do
    local note = next_note(p, not late and deadline or nil)
    if note == false then
      late = true
      p:stop()
    elseif note == nil then
      return nil, late and "not started in time" or "its minder ended", late and ETIMEDOUT or EPIPE
    elseif note.event == "failed" then
      return nil, note.message, note.errno
    elseif note.event == event then
      note.late = late
      return note
    end
  end
end

local function begin(spec)
  local p, message, errno = core.spawn.start(spec)
  if not p then return nil, message, errno end
  return p
end

-- One copy's result from its notes.
local function told(p, started, ended)
  local r = { begin_ns = started.at_ns, end_ns = ended.at_ns,
    wall_ns = ended.at_ns - started.at_ns, exit = ended.exit, signal = ended.signal,
    timed_out = ended.late, left = ended.left or nil, out = p:output("out"),
    err = p:output("err") }
  for _, key in ipairs { "user_ns", "system_ns", "rss_bytes", "read_bytes", "write_bytes",
                         "waits", "preemptions" } do
    r[key] = ended[key]
  end
  return r
end

-- Run the copies of specs at once. list of results | nil, message, errno.
local function at_once(specs, timeout)
  local programs <close> = setmetatable({}, { __close = function(list)
    for _, p in ipairs(list) do p:close() end
  end })
  local started, results = {}, {}
  for i, spec in ipairs(specs) do
    local p, message, errno = begin(spec)
    if not p then return nil, message, errno end
    programs[i] = p
  end
  for _, p in ipairs(programs) do
    local ready, message, errno = await(p, "ready")
    if not ready then return nil, message, errno end
  end
  local deadline = timeout and core.clock.now() + timeout
  for _, p in ipairs(programs) do p:go() end
  for i, p in ipairs(programs) do
    local message, errno
    started[i], message, errno = await(p, "started")
    if not started[i] then return nil, message, errno end
  end
  for i, p in ipairs(programs) do
    local ended, message, errno = await(p, "ended", deadline)
    if not ended then return nil, message, errno end
    results[i] = told(p, started[i], ended)
  end
  return results
end

local function one_by_one(specs, timeout)
  local results = {}
  for i, spec in ipairs(specs) do
    local list, message, errno = at_once({ spec }, timeout)
    if not list then return nil, message, errno end
    results[i] = list[1]
  end
  return results
end

-- All copies in one: sums, the longest span; of one copy also what it printed.
local function merged(list)
  local r = { copies = list, user_ns = 0, system_ns = 0, read_bytes = 0, write_bytes = 0,
    waits = 0, preemptions = 0, rss_bytes = 0 }
  local first, last = math.maxinteger, 0
  for _, c in ipairs(list) do
    for _, key in ipairs { "user_ns", "system_ns", "read_bytes", "write_bytes", "waits",
                           "preemptions" } do
      r[key] = r[key] + c[key]
    end
    r.rss_bytes = math.max(r.rss_bytes, c.rss_bytes)
    first, last = math.min(first, c.begin_ns), math.max(last, c.end_ns)
  end
  r.begin_ns, r.end_ns, r.wall_ns = first, last, last - first
  if #list == 1 then
    for _, key in ipairs { "exit", "signal", "out", "err", "timed_out" } do
      r[key] = list[1][key]
    end
  end
  return r
end

local function keep(o, name, list)
  for i, c in ipairs(list) do
    for _, stream in ipairs { "out", "err" } do
      local path = ("%s/%s.%d.%s"):format(o.keep, name, i, stream)
      local f, message, errno = io.open(path, "w")
      if not f then return nil, "run: " .. message, errno end
      f:write(c[stream])
      f:close()
    end
  end
  return true
end

-- What it said: the first line and the last, where a reason may be.
local function said(text)
  local first, last
  for line in text:gmatch("[^\r\n]+") do
    if line:find("%S") then
      first, last = first or line, line
    end
  end
  if first ~= last then return first .. " ... " .. last end
  return first
end

-- Did a copy fail? nil, or the sentence and errno.
local function failure(o, name, list)
  for i, c in ipairs(list) do
    local who = ("run %s%s"):format(name, #list > 1 and (" (copy %d)"):format(i) or "")
    if c.timed_out then
      return who .. ": not done after " .. require("iolua.units").format_ns(o.timeout), ETIMEDOUT
    elseif o.check and (c.signal or c.exit ~= 0) then
      local line = said(c.err ~= "" and c.err or c.out)
      return ("%s: ended by %s%s"):format(who, c.signal and "signal " .. c.signal
        or "exit status " .. c.exit, line and ": " .. line or "")
    end
  end
end

-- A control group of the copies' own, where their memory is to be bounded.
local function bounded(o)
  if not o.memory then return nil end
  local bound, message, errno = require("iolua.memory").group(o.memory)
  if bound then o.cgroup = bound.path end
  return bound, message, errno
end

--- Run a program, or copies of it, and wait until nothing of it is left.
---
--- The list part is the program and its arguments; one may be a function of the copy's number.
--- Times are from the program's start to its end, by the process that minds it; CPU times and
--- bytes are of all its processes. `out` and `err` are all that it printed.
---@param options table
---@return table? result  wall_ns, user_ns, system_ns, rss_bytes, read_bytes, write_bytes, exit
---  or signal, out, err; copies: the same of each; device: transfers of the disk; refaults:
---  pages read again of a program whose memory is bounded
---@return string? message  "run NAME: reason"; the package's name where it is not installed
---@return integer? errno   nil when the program itself failed
---@return table? partial   the result of a program that failed or took too long
---@async
function run.program(options)
  local o = parse(options, 2)
  local name = o.argv[1]:match("[^/]*$")
  local path, specs = core.spawn.which(o.argv[1]), {}
  if not path then return nil, packages.missing(o.argv[1]), ENOENT end
  local bound <close>, unbound, refused = bounded(o)
  if o.memory and not bound then return nil, ("run %s: %s"):format(name, unbound), refused end
  for i = 1, o.copies do specs[i] = plan(o, path, i, 2) end
  local counted, why, code = device.before(o.device)
  if o.device and not counted then return nil, "run: " .. why, code end
  local list, message, errno = (o.together and at_once or one_by_one)(specs, o.timeout)
  if not list then return nil, ("run %s: %s"):format(name, message), errno end
  local r = merged(list)
  r.device = counted and device.since(counted)
  r.refaults = bound and bound:refaults()
  if o.keep then
    local ok
    ok, why, code = keep(o, name, list)
    if not ok then return nil, why, code, r end
  end
  local bad, number = failure(o, name, list)
  if bad then return nil, bad, number, r end
  return r
end

return setmetatable(run, { __call = function(_, options) return run.program(options) end })
