--- bonnie's tests of one large file: bytes, blocks, rewrite, seeks.
local base = require "iolua.workload.base"
local core = require "iolua.core"
local errand = require "iolua.workload.errand"
local random = require "iolua.random"

local blocks = {}

local UPDATES = 10              -- one seek of so many writes back

--- What the tests of a copy share: its folder and its file, closed together.
---@return table? state
---@return string? message
---@return integer? errno
function blocks.state(o, dir)
  local state = setmetatable({ dir = dir, generator = random.new(o.seed) },
    { __close = function(self)
      if self.file then self.file:close() end
      if self.remove then self.remove() end
    end })
  return state
end

-- A new large file in place of the one before.
local function new_file(o, state)
  if state.file then state.file:close() end
  local message, errno
  state.file, message, errno = base.scratch(state.dir, o.direct)
  return state.file, message, errno
end

-- A job's measure; with an fsync at its end.
local function by_job(o, state, rw, bs, size)
  local r, message, errno = base.sync { target = state.file, rw = rw, bs = bs, size = size,
    seed = o.seed, end_fsync = rw == "write" or nil, fsync = rw == "write" and o.fsync and 1 or nil }
  if not r then return nil, ("bonnie %s: %s"):format(rw, message), errno end
  local side = rw == "write" and r.write or r.read
  return { seconds = base.seconds(r), cpu_ns = r.cpu.user_ns + r.cpu.system_ns, bytes = side.bytes,
    count = side.ios, max_ns = side.lat:max() }
end

local function by_walk(state, steps, threads)
  local r, message, errno = errand.walk(state.file, steps, threads)
  if not r then return nil, "bonnie: " .. message, errno end
  return { seconds = r.elapsed_ns / 1e9, cpu_ns = r.user_ns + r.system_ns, max_ns = r.lat:max(),
    count = r.lat:count() }
end

-- An fsync added to a measure.
local function with_fsync(state, m)
  local from = core.clock.now()
  local ok, message, errno = state.file:fsync()
  if not ok then return nil, "bonnie: " .. message, errno end
  m.seconds = m.seconds + (core.clock.now() - from) / 1e9
  return m
end

local function rewrite(o, state)
  local steps = {}
  for i = 1, o.size // o.chunk do
    steps[i] = errand.step("update", (i - 1) * o.chunk, o.chunk)
  end
  local m, message, errno = by_walk(state, steps, 1)
  if not m then return nil, message, errno end
  m.bytes = o.size                      -- one direction, as bonnie counts
  return with_fsync(state, m)
end

local function seeks(o, state)
  local steps, chunks = {}, o.size // o.chunk
  for i = 1, o.seeks do
    local update = state.generator:below(UPDATES) == 1
    steps[i] = errand.step(update and "update" or "read",
      (state.generator:below(chunks) - 1) * o.chunk, o.chunk)
  end
  local m, message, errno = by_walk(state, steps, o.seekers)
  if not m then return nil, message, errno end
  return with_fsync(state, m)           -- the original's seekers close, and a close flushes
end

-- Bytes one at a time, through as many calls.
local function bytes(o, state, rw)
  if rw == "write" then
    local f, message, errno = new_file(o, state)
    if not f then return nil, "bonnie: " .. message, errno end
  end
  return by_job(o, state, rw, 1, o.byte_size)
end

-- bonnie++ wants a file of twice the memory; a smaller one is dropped from the cache instead.
local function uncached(o, state, fn)
  if o.uncached then
    local ok, message, errno = core.cache.flush(state.file)
    if not ok then return nil, "bonnie: " .. message, errno end
  end
  return fn()
end

--- The tests by name: functions that give { seconds, cpu_ns, bytes or count, max_ns }.
---@param o table
---@param state table
---@return table
function blocks.tests(o, state)
  local tests = {
    block_write = function()
      local f, message, errno = new_file(o, state)
      if not f then return nil, "bonnie: " .. message, errno end
      return by_job(o, state, "write", o.chunk, o.size)
    end,
    rewrite = function() return rewrite(o, state) end,
    block_read = function()
      return uncached(o, state, function() return by_job(o, state, "read", o.chunk, o.size) end)
    end,
    seeks = function() return uncached(o, state, function() return seeks(o, state) end) end,
  }
  if o.byte_size > 0 then
    tests.putc = function() return bytes(o, state, "write") end
    tests.getc = function()
      return uncached(o, state, function() return bytes(o, state, "read") end)
    end
  end
  return tests
end

return blocks
