--- Fibers and what they meet at: channels, semaphores, barriers.
--
-- A fiber is a coroutine that waits in the loop: while one waits for its I/O, others run. The
-- script is one, and so is each line of the prompt. Everything here also works outside a fiber
-- (under a stock lua5.4): there the wait drives the loop in place.
local core = require("iolua.core").fiber
local units = require "iolua.units"

local fiber = {
  --- Run a function in a fiber of its own, which starts when this one waits.
  -- spawn(fn, ...) -> t; t:join() gives its results or raises its error; t:cancel() raises
  -- "cancelled" where it waits; t:status() tells how it is.
  spawn = core.spawn,
  --- The fiber that runs, or nil.
  current = core.current,
  --- A generator as of coroutine.wrap, whose body may wait.
  wrap = core.wrap,
  --- A list of waiting fibers: q:wait([timeout_ns]), q:wake([n = 1]) -> number woken.
  queue = core.queue,
  --- wait_readable(fd [, timeout_ns]) -> true, or false after the time.
  wait_readable = core.wait_readable,
  --- latency(hist): record the latencies of reads and writes there, ns, from the round of the
  -- loop in which each was asked for to the one in which it had come; latency(nil): no more.
  latency = core.latency,
  --- register(buf) -> true: f:read and f:write with it skip the look-up of its pages, until
  --- it is closed. It stays in memory; RLIMIT_MEMLOCK bounds how much can.
  register = core.register,
  --- The engine of the loop: "io_uring", or "threads" and why.
  engine = core.engine,
  --- Choose the engine before the first operation.
  use = core.use,
}

local ETIMEDOUT = 110

local function duration(value, what)
  local ns, message = value, nil
  if type(value) == "string" or math.type(value) ~= "integer" then
    ns, message = units.ns(value)
  elseif value ~= 0 and value < 1000 then
    message = ("%d ns is under 1 us: write a duration with its unit, such as \"5s\""):format(value)
  end
  if message then error(what .. ": " .. message, 3) end
  return ns
end

--- Wait for a time; other fibers run meanwhile.
---@param time integer|string  ns, or text such as "10ms"
function fiber.sleep(time)
  return core.sleep(duration(time, "sleep"))
end

--- Run fn(...) for at most this time. When it takes longer it is cancelled.
---@param time integer|string
---@param fn function
---@return any  ... what fn returned, or nil, "timeout: ...", ETIMEDOUT
function fiber.timeout(time, fn, ...)
  local ns = duration(time, "timeout")
  local t = core.spawn(fn, ...)
  local _stop <close> = setmetatable({}, { __close = function() t:cancel() end })
  local function result(...)
    if t:status() == "done" then return ... end
    t:cancel()
    t:join()
    local text = math.type(time) and time .. " ns" or time
    return nil, "timeout: not done after " .. text, ETIMEDOUT
  end
  return result(t:join(ns))
end

local COUNTS = { steps = 1, cycles = 2, total_ns = 3, max_ns = 4 }

--- Who runs Lua's collector from now on: "loop", between two rounds of the loop, with each pause
--- counted and timed; "stop", nobody; "auto", Lua itself wherever it allocates, as at the start.
--- What is given closes to "auto" and has what the loop did meanwhile: c.steps, c.cycles,
--- c.total_ns and c.max_ns.
---@param mode "loop"|"stop"|"auto"
---@return { steps: integer, cycles: integer, total_ns: integer, max_ns: integer }
function fiber.collector(mode)
  if mode ~= "loop" and mode ~= "stop" and mode ~= "auto" then
    error(('collector: mode %s is not "loop", "stop" or "auto"'):format(tostring(mode)), 2)
  end
  core.collect(mode)
  local kept
  return setmetatable({}, {
    __index = function(_, name)
      local at = COUNTS[name]
      if not at then return nil end
      return kept and kept[at] or (select(at, core.collections()))
    end,
    __close = function()
      kept = kept or { core.collections() }
      core.collect("auto")
    end,
    __name = "iolua.collector",
  })
end

local DRAW = { "size", "bs", "offset", "order", "seed" }
local known = {}
for _, name in ipairs(DRAW) do known[name] = true end

local function bytes(options, name, default)
  local value, message = options[name], nil
  if value == nil then value = default end
  if type(value) == "string" then value, message = units.bytes(value) end
  if math.type(value) ~= "integer" or value < 0 then
    error(("draw: %s: %s"):format(name, message or "a size in bytes is expected, such as \"4k\""), 3)
  end
  return value
end

--- A function that gives one position after another: draw() -> bytes from the start. What the
--- engine draws costs a script next to nothing; f:reader and f:writer take it, too.
---@param options { size: integer|string, bs: integer|string, offset?: integer|string,
---  order?: "random"|"sequential", seed?: integer }  the blocks of bs bytes that fit in size bytes
---  from offset on, each as likely (the default), or in sequence, again from the first after the last
---@return fun(): integer
function fiber.draw(options)
  if type(options) ~= "table" then error("draw: a table of options is expected", 2) end
  for key in pairs(options) do
    if not known[key] then
      local hint = require("iolua.nearest").hint(key, DRAW)
      error(("draw: unknown option %s%s"):format(tostring(key), hint), 2)
    end
  end
  local size, bs = bytes(options, "size"), bytes(options, "bs")
  local offset, order = bytes(options, "offset", 0), options.order or "random"
  if bs == 0 or size < bs then
    error(("draw: no block of %d bytes fits in %d bytes"):format(bs, size), 2)
  end
  if order ~= "random" and order ~= "sequential" then
    error(('draw: order %q is not "random" or "sequential"'):format(tostring(order)), 2)
  end
  local seed = options.seed
  if order == "sequential" then seed = nil elseif seed == nil then seed = 1 end
  return core.draw(offset, bs, size // bs, seed)
end

local channel = {}
channel.__index = channel
channel.__name = "iolua.channel"

--- A queue of values between fibers. send waits while it holds `capacity` values, receive
--- while it holds none.
---@param capacity? integer  default 1
function fiber.channel(capacity)
  capacity = capacity or 1
  if math.type(capacity) ~= "integer" or capacity < 1 then
    error(("channel: capacity %s is not an integer of at least 1"):format(tostring(capacity)), 2)
  end
  return setmetatable({ first = 1, last = 0, capacity = capacity, closed = false,
    room = core.queue(), filled = core.queue() }, channel)
end

--- Put a value in. Raises when the channel is closed.
function channel:send(value)
  while not self.closed and self.last - self.first + 1 >= self.capacity do self.room:wait() end
  if self.closed then error("send: the channel is closed", 2) end
  self.last = self.last + 1
  self[self.last] = value
  self.filled:wake()
end

--- Take the oldest value: true, value; or false once the channel is closed and empty.
function channel:receive()
  while self.first > self.last do
    if self.closed then return false end
    self.filled:wait()
  end
  local value = self[self.first]
  self[self.first] = nil
  self.first = self.first + 1
  self.room:wake()
  return true, value
end

--- for value in c:each() do: until the channel is closed and empty. Values are not nil.
function channel:each()
  return function()
    local some, value = self:receive()
    if some then return value end
  end
end

--- No more values: receivers end once it is empty, senders raise.
function channel:close()
  self.closed = true
  self.room:wake(math.maxinteger)
  self.filled:wake(math.maxinteger)
end

channel.__close = channel.close

--- Values in it now.
function channel:__len() return self.last - self.first + 1 end

local semaphore = {}
semaphore.__index = semaphore
semaphore.__name = "iolua.semaphore"

--- n permits. `local permit <close> = s:acquire()` gives one back by itself.
---@param n integer
function fiber.semaphore(n)
  if math.type(n) ~= "integer" or n < 0 then
    error(("semaphore: %s is not an integer of at least 0"):format(tostring(n)), 2)
  end
  local s = setmetatable({ free = n, queue = core.queue() }, semaphore)
  s.permit = setmetatable({}, { __close = function() s:release() end, __name = "iolua.permit" })
  return s
end

--- Take a permit; waits while there is none. Returns a value whose closing releases it.
function semaphore:acquire()
  while self.free == 0 do self.queue:wait() end
  self.free = self.free - 1
  return self.permit
end

--- Take a permit if there is one.
function semaphore:try()
  if self.free == 0 then return nil end
  self.free = self.free - 1
  return self.permit
end

function semaphore:release()
  self.free = self.free + 1
  self.queue:wake()
end

local barrier = {}
barrier.__index = barrier
barrier.__name = "iolua.barrier"

--- A place where n fibers meet: wait returns when the n-th has come, then it can be used again.
---@param n integer
function fiber.barrier(n)
  if math.type(n) ~= "integer" or n < 1 then
    error(("barrier: %s is not an integer of at least 1"):format(tostring(n)), 2)
  end
  return setmetatable({ size = n, missing = n, queue = core.queue() }, barrier)
end

--- Wait for the others. Returns true in the fiber that came last.
function barrier:wait()
  self.missing = self.missing - 1
  if self.missing == 0 then
    self.missing = self.size
    self.queue:wake(math.maxinteger)
    return true
  end
  self.queue:wait()
  return false
end

return fiber
