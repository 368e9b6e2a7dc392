--- bonnie++'s tests: bytes, blocks, rewrite, seeks; files created, looked at and removed.
--
-- In its order, with its columns: K is 1024 bytes, a latency is the longest operation, a rate
-- of a test shorter than 0.5 s is "too short to say". fsync and close are within the times.
-- n copies go through each test in step when `together`. The large file has no name; the
-- small ones lie in a folder that is removed on every way out, also after ^C.
local fiber = require "iolua.fiber"
local names = require "iolua.workload.bonnienames"
local blocks = require "iolua.workload.bonnieblocks"
local schema = require "iolua.schema"
local text = require "iolua.workload.bonnietext"

local bonnie = { text = text.run }

local MIN_SECONDS = 0.5

local OPTIONS = {
  dir = { type = "any", default = ".", help = "folder, or a function of the copy" },
  size = { type = "size", default = 0, help = "bytes of the large file, -s; 0: none" },
  chunk = { type = "size", default = 8192, min = 256, max = 1 << 20, help = "bytes a block" },
  byte_size = { type = "size", default = 0, help = "bytes written one by one; 0: none, as -f" },
  seeks = { type = "integer", default = 8192, min = 1, help = "in all" },
  seekers = { type = "integer", default = 5, min = 1, max = 1024, help = "threads that seek" },
  files = { type = "table", help = "-n: { count = in units of 1024, max =, min =, dirs = }",
    fields = {
      count = { type = "integer", required = true, min = 1, max = 1 << 14 },
      max = { type = "size", default = 0 }, min = { type = "size", default = 0 },
      dirs = { type = "integer", default = 1, min = 1, max = 99999 },
    } },
  fsync = { type = "boolean", default = false, help = "-b: after each file and block" },
  direct = { type = "boolean", default = false, help = "-D, for reads too" },
  uncached = { type = "boolean", default = false,
    help = "drop the large file from the page cache before it is read or sought in" },
  copies = { type = "integer", default = 1, min = 1, max = 1024, help = "at once" },
  together = { type = "boolean", default = true, help = "copies start each test together" },
  min_seconds = { type = "number", default = MIN_SECONDS, min = 0,
    help = "a rate needs a test of that long" },
  seed = { type = "integer", default = 1, min = 0, help = "of places, sizes and order" },
}

local TESTS = { "putc", "block_write", "rewrite", "getc", "block_read", "seeks", "seq_create",
                "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete" }

-- A raw measure { seconds, cpu_ns, bytes or count, max_ns } as the reader's entry.
local function entry(m, o)
  local e = { seconds = m.seconds, latency_max_ns = m.max_ns,
    cpu_percent = m.seconds > 0 and m.cpu_ns / 1e9 / m.seconds * 100 or nil }
  if m.seconds < o.min_seconds then e.too_short = true
  elseif m.bytes then e.bytes_per_s = m.bytes / m.seconds
  else e.per_s = m.count / m.seconds end
  return e
end

-- The tests of one copy in order: name, function. A test with nothing to do is left out.
local function tests_of(o, copy, state)
  local list = {}
  local function add(name, fn) list[#list + 1] = { name = name, run = fn } end
  local own = o.size > 0 and blocks.tests(o, state) or {}
  for name, fn in pairs(o.files and names.tests(o, state, copy) or {}) do own[name] = fn end
  for _, name in ipairs(TESTS) do
    if own[name] then add(name, own[name]) end
  end
  return list
end

-- One copy; `barrier` is met before each test. result, or nil, message, errno.
local function run_copy(o, copy, barrier, failed)
  local dir = type(o.dir) == "function" and o.dir(copy) or o.dir
  local state <close>, message, errno = blocks.state(o, dir)
  if not state then return nil, message, errno end
  local r = { name = "iolua", version = "iolua", size_bytes = o.size > 0 and o.size or nil,
    chunk_bytes = o.chunk, files = o.files and { count = o.files.count * 1024,
    max_bytes = o.files.max, min_bytes = o.files.min, dirs = o.files.dirs } }
  for _, test in ipairs(tests_of(o, copy, state)) do
    if barrier then barrier:wait() end
    if failed.why then return nil, failed.why, failed.errno end
    local m, why, code = test.run()
    if not m then
      failed.why, failed.errno = failed.why or why, failed.errno or code
      if not barrier then return nil, why, code end
    else
      r[test.name] = entry(m, o)
    end
  end
  if barrier then barrier:wait() end
  if failed.why then return nil, failed.why, failed.errno end
  return r
end

local function cancel_all(list)
  return setmetatable({}, { __close = function()
    for _, t in ipairs(list) do t:cancel() end
    for _, t in ipairs(list) do pcall(t.join, t) end
  end })
end

local function run_copies(o)
  local barrier = o.together and fiber.barrier(o.copies) or nil
  local fibers, results, failed = {}, {}, {}
  local _ <close> = cancel_all(fibers)
  for copy = 1, o.copies do
    fibers[copy] = fiber.spawn(run_copy, o, copy, barrier, failed)
  end
  for copy, t in ipairs(fibers) do
    local r, message, errno = t:join()
    if not r then return nil, message, errno end
    results[copy] = r
  end
  return { copies = results }
end

local function check(options, level)
  local o = schema.check(OPTIONS, options, level + 1, "bonnie")
  if o.size == 0 and not o.files then error("bonnie: neither size nor files", level + 1) end
  if o.size % o.chunk ~= 0 then
    error(("bonnie: size = %d is no multiple of chunk = %d"):format(o.size, o.chunk), level + 1)
  end
  if o.files and o.files.min > o.files.max then
    error("bonnie: files.min is more than files.max", level + 1)
  end
  return o
end

--- Run it.
---@param options table
---@return table? result  as iolua.program.bonnie.read gives it; of several copies { copies = {} }
---@return string? message
---@return integer? errno
---@async
function bonnie.run(options)
  local o = check(options, 2)
  if o.copies > 1 then return run_copies(o) end
  return run_copy(o, 1, nil, {})
end

--- The same by bonnie++ itself: see iolua.workload.bonnietheirs.
function bonnie.program(options)
  return require("iolua.workload.bonnietheirs").run(options)
end

return setmetatable(bonnie, { __call = function(_, options) return bonnie.run(options) end })
