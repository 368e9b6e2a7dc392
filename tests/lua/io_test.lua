-- Reading and writing from fibers against the real file system: results, checks, lifetime.
-- tests/cli/engines_test.lua runs this file again where io_uring is forbidden.
local t = require "check"
local iolua = require "iolua"
local core = require "iolua.core"

local path = os.tmpname()
local K = 1024

local function scratch(bytes)
  local f = assert(iolua.open(path, { write = true, create = true, overwrite = true }))
  assert(f:truncate(bytes))
  return f
end

t.case("what is written is read back, at its place", function()
  local f <close> = scratch(0)
  local b <close> = iolua.buffer(4 * K)
  b:fill { seed = 1 }
  local text = b:string()
  t.equal(f:write(b, 0), 4 * K)
  t.equal(f:write(b, 8 * K, 100), 100)
  t.equal(f:size(), 8 * K + 100)
  local c <close> = iolua.buffer(4 * K)
  t.equal(f:read(c, 0), 4 * K)
  t.ok(c:string() == text, "the bytes written")
  t.equal(f:read(c, 4 * K), 4 * K)
  t.ok(c:string() == ("\0"):rep(4 * K), "the hole reads as zeros")
  t.equal(f:read(c, 8 * K), 100)
  t.equal(f:read(c, 8 * K + 100), 0)
  t.equal(f:read(c, 1 << 40), 0)
  t.equal(f:fsync(), true)
  t.equal(f:fdatasync(), true)
end)

t.case("a 10 000-byte file read at 8192 gives 1808 bytes", function()
  local f <close> = scratch(10000)
  local b <close> = iolua.buffer(4 * K)
  t.equal(f:read(b, 8192), 1808)
end)

t.case("truncate sets the length", function()
  local f <close> = scratch(0)
  for _, n in ipairs { 0, 1, 12345, 5 << 40 } do
    local ok, message, errno = f:truncate(n)
    if ok then t.equal(f:size(), n) else t.equal(errno, 27, message) end
  end
  t.raises("not in 0..", f.truncate, f, -1)
end)

t.case("discard makes a hole", function()
  local f <close> = scratch(0)
  local b <close> = iolua.buffer(64 * K)
  b:fill { byte = 0x55 }
  f:write(b, 0)
  f:fsync()
  local ok, message, errno = f:discard(4 * K, 8 * K)
  if not ok and errno == 95 then t.skip(message) end
  t.equal(ok, true)
  f:read(b, 0)
  t.equal(b:string(4 * K, 4 * K + 1), "\x55\0")
  t.equal(b:string(12 * K, 12 * K + 1), "\0\x55")
  t.equal(f:size(), 64 * K)
end)

t.case("positions of 5 and 15 TiB work", function()
  local f <close> = scratch(0)
  local b <close> = iolua.buffer(4 * K)
  b:fill { seed = 5 }
  local text, most = b:string(), 0
  for _, tib in ipairs { 5, 15 } do
    local n, message, errno = f:write(b, tib << 40)
    if n then
      local c <close> = iolua.buffer(4 * K)
      t.equal(f:read(c, tib << 40), 4 * K)
      t.ok(c:string() == text, "the bytes written")
      most = tib
    else
      t.equal(errno, 27, message)        -- the file system's limit, told by name
      t.contains(message, ("write %s at %d: File too large"):format(path, tib << 40))
    end
  end
  t.ok(most > 0, "one of them fits")
end)

t.case("positions and lengths are integers or integral floats in their range", function()
  local f <close> = scratch(64 * K)
  local b <close> = iolua.buffer(4 * K)
  t.equal(f:read(b, 4096.0), 4 * K)
  t.equal(f:read(b, 0, 16.0), 16)
  t.equal(f:read(b, 0, 0), 0)
  t.equal(f:read(b, 0, nil), 4 * K)
  for _, bad in ipairs { 65.5, -1, 0 / 0, 1 / 0, "0", true, math.mininteger } do
    t.ok(not pcall(f.read, f, b, bad), "position " .. tostring(bad))
    t.ok(not pcall(f.read, f, b, 0, bad), "length " .. tostring(bad))
  end
  t.raises("is not in 0..", f.read, f, b, math.maxinteger)
  t.raises("4097 is not in 0..4096", f.read, f, b, 0, 4097)
  t.ok(not pcall(f.read, f, b), "no position")
end)

t.case("what is no file or no buffer is refused by name", function()
  local f <close> = scratch(0)
  local b <close> = iolua.buffer(16)
  t.raises("iolua.file expected", f.read, io.stdout, b, 0)
  t.raises("iolua.file expected", f.read, nil, b, 0)
  t.raises("iolua.file expected", f.read, b, b, 0)
  t.raises("iolua.buf expected", f.read, f, "text", 0)
  t.raises("iolua.buf expected", f.read, f, f, 0)
  t.raises("iolua.buf expected", f.read, f, {}, 0)
  b:close()
  t.raises("buffer is closed", f.read, f, b, 0)
  f:close()
  t.raises("file is closed", f.read, f, iolua.buffer(1), 0)
  t.raises("file is closed", f.fsync, f)
end)

t.case("failures of the world say what, where and why", function()
  local full <close> = assert(iolua.open("/dev/full", { write = true, overwrite = true }))
  local b <close> = iolua.buffer(512)
  local n, message, errno = full:write(b, 1024)
  t.equal(n, nil)
  t.equal(message, "write /dev/full at 1024: No space left on device")
  t.equal(errno, 28)
  scratch(4096):close()
  local reader <close> = assert(iolua.open(path))
  n, message, errno = reader:write(b, 0)
  t.equal(n, nil)
  t.equal(message, ("write %s at 0: Bad file descriptor"):format(path))
  t.equal(errno, 9)
end)

t.case("direct I/O names the block size that a position or length does not fit", function()
  scratch(64 * K):close()
  local f <close>, message = iolua.open(path, { direct = true })
  if not f then t.skip(message) end
  local b <close> = iolua.buffer(4 * K)
  t.equal(f:read(b, 0), 4 * K)
  t.raises("position 100 is not a multiple of " .. f:block_size(), f.read, f, b, 100)
  t.raises("length 100 is not a multiple of " .. f:block_size(), f.read, f, b, 0, 100)
end)

t.case("two fibers that complete in one batch and queue again keep their results", function()
  local f <close> = scratch(0)
  local b = iolua.buffer(4 * K)
  for i = 0, 63 do
    b:fill { byte = i }
    f:write(b, i * 4 * K)
  end
  local wrong, list = 0, {}
  for who = 1, 2 do
    list[who] = iolua.spawn(function()
      local mine <close> = iolua.buffer(4 * K)
      for round = 1, 2000 do
        local at = (round * who) % 64
        f:read(mine, at * 4 * K)
        if mine:string(1, 1):byte() ~= at then wrong = wrong + 1 end
      end
    end)
  end
  for _, x in ipairs(list) do x:join() end
  t.equal(wrong, 0)
end)

t.case("one of four fibers raises, the others finish", function()
  local f <close> = scratch(64 * K)
  local done, list = 0, {}
  for i = 1, 4 do
    list[i] = iolua.spawn(function()
      local b <close> = iolua.buffer(4 * K)
      for round = 1, 100 do
        f:read(b, 0)
        if i == 2 and round == 10 then error("the second", 0) end
      end
      done = done + 1
    end)
  end
  for i = 1, 4 do
    local ok, message = pcall(list[i].join, list[i])
    t.equal(ok, i ~= 2)
    if i == 2 then t.equal(message, "the second") end
  end
  t.equal(done, 3)
end)

t.case("more requests than the engine takes wait for room, none is lost", function()
  local f <close> = scratch(64 * K)
  local n, list = 0, {}
  for i = 1, 5000 do
    list[i] = iolua.spawn(function()
      local b <close> = iolua.buffer(512)
      local got = f:read(b, i % 64 * 512)
      n = n + got
    end)
  end
  for i = 1, #list do list[i]:join() end
  t.equal(n, 5000 * 512)
end)

local function fifo()
  os.remove(path)
  local _, code = t.run("mkfifo " .. path)
  t.equal(code, 0)
  local reader = assert(iolua.open(path))
  return reader, assert(io.open(path, "w"))     -- with a writer, so that reading waits
end

t.case("a read on an empty pipe can be cancelled", function()
  local p <close>, writer <const> = fifo()
  local f = iolua.spawn(function()
    local b <close> = iolua.buffer(16)
    return p:read(b, 0)
  end)
  iolua.sleep("5ms")
  t.equal(f:status(), "waiting")
  f:cancel()
  t.equal(f:join(), nil)
  t.equal(f:status(), "cancelled")
  writer:close()
  os.remove(path)
end)

t.case("a pipe hands over what is written", function()
  local p <close>, writer <const> = fifo()
  local f = iolua.spawn(function()
    local b <close> = iolua.buffer(16)
    local n = p:read(b, 0)
    return b:string(1, n)
  end)
  iolua.sleep("2ms")
  writer:write("hello"):flush()
  t.equal(f:join(), "hello")
  writer:close()
  os.remove(path)
end)

t.case("a read on an empty pipe ends with its timeout", function()
  local p <close>, writer <const> = fifo()
  local b <close> = iolua.buffer(16)
  local n, message = iolua.timeout("5ms", p.read, p, b, 0)
  t.equal(n, nil)
  t.contains(message, "timeout: not done after 5ms")
  writer:close()
  os.remove(path)
end)

t.case("buffer and file may be closed while a request uses them", function()
  local p, writer = fifo()
  local b = iolua.buffer(16)
  local before = core.buf.alive()
  local f = iolua.spawn(function() return p:read(b, 0) end)
  iolua.sleep("2ms")
  b:close()
  p:close()
  t.equal(core.buf.alive(), before)      -- lent: it lives
  f:cancel()
  f:join()
  t.equal(core.buf.alive(), before - 1)
  writer:close()
  os.remove(path)
end)

t.case("collected fibers, buffers and files with requests out are safe", function()
  local p, writer = fifo()
  local before = core.buf.alive()
  local list = {}
  for i = 1, 10 do
    list[i] = iolua.spawn(function()
      local b = iolua.buffer(4 * K)
      p:read(b, 0)
    end)
  end
  iolua.sleep("2ms")
  t.equal(core.buf.alive(), before + 10)
  for i = 1, 10 do list[i]:cancel() end
  iolua.sleep("5ms")
  collectgarbage()
  t.equal(core.buf.alive(), before)
  p:close()
  writer:close()
  os.remove(path)
end)

t.case("operations leave no garbage", function()
  local f <close> = scratch(64 * K)
  local b <close> = iolua.buffer(4 * K)
  f:read(b, 0)
  collectgarbage()
  collectgarbage("stop")
  local before = collectgarbage("count")
  for _ = 1, 20000 do f:read(b, 0) end
  local after = collectgarbage("count")
  collectgarbage("restart")
  t.equal(after, before)
end)

t.case("a registered buffer reads and writes as another, also when it is closed in flight", function()
  local f <close> = scratch(0)
  local a, b = iolua.buffer(8 * K), iolua.buffer(8 * K)
  a:fill { seed = 9 }
  local text = a:string()
  local ok, message, errno = iolua.fiber.register(a)
  if core.fiber.engine() == "threads" then
    t.equal(ok, nil)
    t.equal(errno, 95)
    t.contains(message, "register: ")
    return
  end
  t.equal(ok, true)
  t.equal(iolua.fiber.register(a), true)         -- twice is allowed
  t.equal(iolua.fiber.register(b), true)
  t.equal(f:write(a, 0), 8 * K)
  t.equal(f:read(b, 0), 8 * K)
  t.ok(b:string() == text, "the bytes")
  local reader = iolua.spawn(function() return f:read(b, 0, 4 * K) end)
  iolua.sleep(0)
  b:close()
  t.equal(reader:join(), 4 * K)
  for _ = 1, 200 do                              -- places are free again
    local c <close> = iolua.buffer(4 * K)
    t.equal(iolua.fiber.register(c), true)
    t.equal(f:read(c, 4 * K), 4 * K)
    t.ok(c:string() == text:sub(4 * K + 1), "the bytes")
  end
  a:close()
  t.raises("buffer is closed", iolua.fiber.register, a)
end)

t.case("a finalizer may read: it blocks", function()
  local f = scratch(64 * K)
  local n
  setmetatable({}, { __gc = function() n = f:read(iolua.buffer(512), 0) end })
  collectgarbage()
  collectgarbage()
  t.equal(n, 512)
  f:close()
end)

os.remove(path)
t.case("latencies of fibers go into a histogram, each transfer once, others not", function()
  local hist = iolua.hist()
  local f <close> = assert(iolua.open("/dev/zero"))
  iolua.fiber.latency(hist)
  local buf <close> = assert(iolua.buffer(512))
  for _ = 1, 100 do assert(f:read(buf, 0)) end
  iolua.sleep("1ms")
  iolua.fiber.latency(nil)
  assert(f:read(buf, 0))
  t.equal(hist:count(), 100)
  t.raises("hist", iolua.fiber.latency, {})
end)

t.done()
