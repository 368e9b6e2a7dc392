-- f:reader, f:writer and fiber.draw: operations of which all is checked before the first.
-- tests/cli/engines_test.lua runs this file again where io_uring is forbidden.
local t = require "check"
local iolua = require "iolua"
local clock = require("iolua.core").clock

local path = os.tmpname()
local K = 1024
local fiber = iolua.fiber

-- A file of n blocks of 4 KiB, the i-th (from 0) of bytes i, and `more` bytes.
local function blocks(n, more)
  local f = assert(iolua.open(path, { write = true, create = true, overwrite = true }))
  assert(f:truncate(0))
  local b <close> = iolua.buffer(4 * K)
  for i = 0, n - 1 do assert(f:write(b:fill { byte = i }, i * 4 * K)) end
  if more then assert(f:write(b, n * 4 * K, more)) end
  return f
end

t.case("a reader reads where each call says", function()
  local f <close> = blocks(8)
  local b <close> = iolua.buffer(4 * K)
  local read = f:reader(b)
  for _, i in ipairs { 5, 0, 7, 7, 2 } do
    t.equal(read(i * 4 * K), 4 * K)
    t.equal(b:string(1, 1):byte(), i)
    t.equal(b:string(-1):byte(), i)
  end
  t.equal(read(8 * 4 * K), 0)
  t.equal(read(8 * 4 * K - 512), 512)
  t.equal(read(4096.0), 4 * K)
  t.raises("integer", read)
  t.raises("integer", read, "0")
  t.raises("-1", read, -1)
end)

t.case("a sequence gives every block in order and begins again", function()
  local f <close> = blocks(5)
  local b <close> = iolua.buffer(4 * K)
  local read = f:reader(b, fiber.draw { size = "20k", bs = "4k", order = "sequential" })
  for i = 0, 11 do
    t.equal(read(), 4 * K)
    t.equal(b:string(1, 1):byte(), i % 5)
  end
  local draw = fiber.draw { size = 3 * K, bs = K, offset = "1m", order = "sequential" }
  for _, want in ipairs { 0, K, 2 * K, 0 } do t.equal(draw(), K * K + want) end
end)

t.case("what is drawn at random is every block about as often, the same for a seed", function()
  local count, n = {}, 16000
  local draw = fiber.draw { size = "16k", bs = "1k", offset = "1k", seed = 7 }
  local again = fiber.draw { size = "16k", bs = "1k", offset = "1k", seed = 7 }
  for _ = 1, n do
    local pos = draw()
    t.equal(again(), pos)
    count[pos] = (count[pos] or 0) + 1
  end
  for i = 1, 16 do t.near(count[i * K], n / 16, 5 * 31) end     -- five standard deviations
  count[K] = nil
  t.equal(next(count) ~= nil, true)
end)

t.case("a count makes so many operations and gives the bytes of all", function()
  local f <close> = blocks(10)
  local b <close> = iolua.buffer(4 * K)
  local read = f:reader(b, fiber.draw { size = "40k", bs = "4k", order = "sequential" })
  local hist = iolua.hist()
  fiber.latency(hist)
  t.equal(read(7), 7 * 4 * K)
  t.equal(b:string(1, 1):byte(), 6)
  t.equal(read(1), 4 * K)
  t.equal(b:string(1, 1):byte(), 7)
  t.equal(read(100), 100 * 4 * K)
  t.equal(b:string(1, 1):byte(), 7)
  iolua.sleep(0)
  fiber.latency(nil)
  t.equal(hist:count(), 108)
  t.raises("0 is not in", read, 0)
end)

t.case("a writer writes its buffer as it is at the moment", function()
  local f <close> = blocks(0)
  local b <close> = iolua.buffer(4 * K)
  local write = f:writer(b, fiber.draw { size = "16k", bs = "4k", order = "sequential" })
  for i = 1, 4 do
    b:fill { byte = i }
    t.equal(write(), 4 * K)
  end
  local r <close> = iolua.buffer(16 * K)
  t.equal(f:read(r, 0), 16 * K)
  t.equal(r:string(), ("\1"):rep(4 * K) .. ("\2"):rep(4 * K) .. ("\3"):rep(4 * K) .. ("\4"):rep(4 * K))
end)

t.case("many end at one that comes short", function()
  local f <close> = blocks(3, 100)
  local b <close> = iolua.buffer(4 * K)
  local read = f:reader(b, fiber.draw { size = "40k", bs = "4k", order = "sequential" })
  t.equal(read(9), 3 * 4 * K + 100)
end)

t.case("failures raise with the position", function()
  blocks(4):close()
  local f <close> = assert(iolua.open(path))
  local b <close> = iolua.buffer(4 * K)
  local draw = fiber.draw { size = "16k", bs = "4k", order = "sequential" }
  local write = f:writer(b, draw)
  t.raises("write " .. path .. " at 0: Bad file descriptor", write)
  t.raises("write " .. path .. " at 4096: Bad file descriptor", write, 3)
  t.raises("write " .. path .. " at 8192: Bad file descriptor", f:writer(b), 8192)
  local read = f:reader(b, draw)
  f:close()
  t.raises("read: the file is closed", read)
  local g <close> = assert(iolua.open(path))
  read = g:reader(b, draw)
  b:close()
  t.raises("read: the buffer is closed", read, 5)
end)

t.case("what cannot fit is refused before the first", function()
  local b <close> = iolua.buffer(4 * K)
  local f <close> = blocks(4)
  t.raises("iolua.file", f.reader, b, b)
  t.raises("iolua.buf", f.reader, f, f)
  t.raises("what iolua.fiber.draw gives", f.reader, f, b, function() return 0 end)
  t.raises("what iolua.fiber.draw gives", f.reader, f, b, print)
  t.raises("too high", f.reader, f, b,
    fiber.draw { size = 1024, offset = math.maxinteger - 1024, bs = 1024 })
  t.raises('unknown option blocks', fiber.draw, { blocks = 4 })
  t.raises("no block of 8192 bytes fits in 4096", fiber.draw, { size = "4k", bs = "8k" })
  t.raises('order "zipf"', fiber.draw, { size = "4k", bs = "4k", order = "zipf" })
  t.raises("size:", fiber.draw, { size = "many", bs = "4k" })
  t.raises("bs:", fiber.draw, { size = "4k" })
  local d <close> = assert(iolua.open(path, { direct = true }))
  if d:block_size() > 1 then
    local odd <close> = iolua.buffer(100)
    t.raises("block size of direct I/O", d.reader, d, odd)
    t.raises("block size of direct I/O", d.reader, d, b, fiber.draw { size = "8k", bs = 100 })
    t.raises("block size of direct I/O", d:reader(b), 100)
  end
end)

t.case("many can be cancelled, and end when the file is closed", function()
  local f = blocks(4)
  local a, b <close> = iolua.buffer(4 * K), iolua.buffer(4 * K)
  local draw = fiber.draw { size = "16k", bs = "4k" }
  local forever = iolua.spawn(f:reader(a, draw), 0x7fffffff)
  local second = iolua.spawn(f:reader(b, draw), 0x7fffffff)
  iolua.sleep("2ms")
  t.equal(forever:status(), "waiting")
  forever:cancel()
  local n, _, errno = forever:join()
  t.equal(n, nil)
  t.equal(errno, 125)
  a:close()
  f:close()
  t.raises("the file is closed", second.join, second)
end)

t.case("fibers whose operations end at once leave others their turn", function()
  local f <close> = assert(iolua.open("/dev/null", { write = true, overwrite = true }))
  local stop, list = false, {}
  for i = 1, 300 do                     -- more than the ring's entries
    list[i] = iolua.spawn(function()
      local b <close> = iolua.buffer(512)
      local write = f:writer(b, fiber.draw { size = "4k", bs = "512" })
      while not stop do
        t.equal(f:write(b, 0), 512)
        t.equal(write(), 512)
        t.equal(write(3), 3 * 512)
      end
    end)
  end
  iolua.sleep("20ms")                   -- it returns
  stop = true
  for i = 1, #list do list[i]:join() end
end)

t.case("latencies lie between nothing and all the time there was", function()
  local f <close> = assert(iolua.open("/dev/null", { write = true, overwrite = true }))
  local b <close> = iolua.buffer(512)
  local hist, from = iolua.hist(), clock.now()
  iolua.sleep("1ms")                    -- a clock reading before: what is stamped is later
  fiber.latency(hist)
  for _ = 1, 100 do assert(f:write(b, 0)) end
  f:writer(b, fiber.draw { size = "4k", bs = "512" })(100)
  iolua.sleep(0)
  fiber.latency(nil)
  t.equal(hist:count(), 200)
  t.ok(hist:max() <= clock.now() - from, "the longest is not longer than the whole")
end)

t.case("a million operations leave no garbage", function()
  local each = fiber.engine() == "io_uring" and 5000 or 50      -- threads: a million would take long
  local f <close> = assert(iolua.open("/dev/null", { write = true, overwrite = true }))
  local n, list = 0, {}
  local go, counted = fiber.queue(), nil
  for i = 1, 100 do
    list[i] = iolua.spawn(function()
      local b <close> = iolua.buffer(512)
      local write = f:writer(b, fiber.draw { size = "4k", bs = "512" })
      write()
      go:wait()
      for _ = 1, each do
        f:write(b, 0)
        write()
      end
      n = n + 2 * each
    end)
  end
  iolua.sleep("10ms")
  collectgarbage()
  collectgarbage("stop")
  counted = collectgarbage("count")
  go:wake(100)
  while n < 200 * each do iolua.sleep(1000000) end
  local grown = collectgarbage("count") - counted
  collectgarbage("restart")
  t.ok(grown == 0, ("memory grew by %.3f KiB"):format(grown))
  for i = 1, #list do list[i]:join() end
end)

t.case("1024 buffers can be registered, and their places are free again", function()
  if fiber.engine() ~= "io_uring" then t.skip("no io_uring") end
  local f <close> = blocks(2)
  local list = {}
  for round = 1, 2 do
    for i = 1, 1024 do
      list[i] = iolua.buffer(4 * K)
      local ok, message, errno = fiber.register(list[i])
      if errno == 12 then t.skip(message) end           -- RLIMIT_MEMLOCK
      t.equal(ok, true)
    end
    local one <close> = iolua.buffer(4 * K)
    local ok, _, errno = fiber.register(one)
    t.equal(ok, nil)
    t.equal(errno, 28)
    t.equal(f:reader(list[1024])(4 * K), 4 * K)
    t.equal(list[1024]:string(1, 1):byte(), 1, "round " .. round)
    for i = 1, 1024 do list[i]:close() end
  end
end)

t.case("a finalizer may use a reader: it blocks", function()
  local f <close> = blocks(4)
  local b <close> = iolua.buffer(4 * K)
  local read, n = f:reader(b, fiber.draw { size = "16k", bs = "4k" }), nil
  setmetatable({}, { __gc = function() n = read() + read(3) end })
  collectgarbage()
  collectgarbage()
  t.equal(n, 4 * 4 * K)
end)

t.case("a generator that waits may use a reader, and the fiber after it", function()
  local f <close> = blocks(4)
  local b <close> = iolua.buffer(4 * K)
  local read = f:reader(b, fiber.draw { size = "16k", bs = "4k", order = "sequential" })
  local sum = 0
  for n in iolua.wrap(function() for _ = 1, 5 do coroutine.yield(read(2)) end end) do
    sum = sum + n + read()
  end
  t.equal(sum, 15 * 4 * K)
end)

os.remove(path)
t.done()
