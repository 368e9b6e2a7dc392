-- Jobs where something is forbidden, small or broken; exit statuses of the runner.
local t = require "check"

local IOLUA, BUILD = os.getenv("IOLUA"), os.getenv("IOLUA_BUILD")
local NO_URING = BUILD .. "/tests/no_uring "
local root = t.run("id -u"):match("^0") ~= nil

-- Run a chunk with iolua behind a prefix of the command line.
local function run(chunk, prefix)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write('local iolua = require "iolua"\n' .. chunk)
  f:close()
  os.execute("chmod a+r " .. path)
  local output, status = t.run(("%s %s %s"):format(prefix or "", IOLUA, path))
  os.remove(path)
  return output, status
end

local NOP = 'local r = assert(iolua.job { rw = "nop", number_ios = 100, iodepth = 4 %s })\n'
  .. 'print(r.engine, r.read.ios, r.note)'

for errno, name in pairs { [1] = "forbidden", [38] = "not in this kernel" } do
  t.case(("io_uring failing with errno %d: threads, and the reason"):format(errno), function()
    local output, status = run(NOP:format(""), NO_URING .. errno)
    if status == 77 then t.skip("seccomp filters cannot be set here") end
    t.equal(status, 0)
    t.contains(output, "threads\t100\tthreads instead of io_uring: ")
    t.contains(output, name)
  end)

  t.case(("errno %d and engine = io_uring: an error, not a fallback"):format(errno), function()
    local output, status = run(NOP:format(', engine = "io_uring"'), NO_URING .. errno)
    if status == 77 then t.skip("seccomp filters cannot be set here") end
    t.equal(status, 1)
    t.contains(output, name)
  end)

  t.case(("errno %d and sqpoll: an error that says why"):format(errno), function()
    local output, status = run(NOP:format(", ring = { sqpoll = true }"), NO_URING .. errno)
    if status == 77 then t.skip("seccomp filters cannot be set here") end
    t.equal(status, 1)
    t.contains(output, name)
  end)
end

t.case("64 KiB of locked memory: the job goes on without, and gives limit and need", function()
  if not root then t.skip("needs root, to become a user without CAP_IPC_LOCK") end
  local data = os.tmpname()
  os.execute("truncate -s 1m " .. data .. "; chmod a+r " .. data)
  local output, status = run(([[
    local r = assert(iolua.job { target = %q, rw = "randread", bs = "4k", iodepth = 64,
      number_ios = 1000 })
    print(r.engine, r.read.ios, r.registered.buffers, r.note)]]):format(data),
    "prlimit --memlock=65536 " .. t.as_user())
  os.remove(data)
  if not t.readable_to_others() then t.skip("the tree is not readable to others") end
  t.equal(status, 0)
  t.contains(output, "io_uring\t1000\tfalse\t")
  t.contains(output, "64 KiB of locked memory allowed, 256 KiB needed")
end)

t.case("a full device: ENOSPC with path and offset, status 1, and 3 when it may go on", function()
  local job = [[iolua.job { target = "/dev/full", rw = "write", bs = "4k", overwrite = true,
    size = "64k", continue_on_error = %s }]]
  local output, status = run("assert(" .. job:format("false") .. ")")
  t.equal(status, 1)
  t.contains(output, "write /dev/full at 0: No space left on device")
  output, status = run(("local r = assert(%s)\nprint(r.write.errors, r.write.ios, "
    .. "r.write.lat:count(), r.write.iops, r.error.offset)"):format(job:format("true")))
  t.equal(output, "16\t0\t0\tnil\t0\n")
  t.equal(status, 3)
  output, status = run(("local r, m, e, partial = %s\nprint(r, m, e, partial.write.errors)")
    :format(job:format("false")))
  t.equal(output, "nil\twrite /dev/full at 0: No space left on device\t28\t1\n")
  t.equal(status, 3)
end)

-- The backing file is cut under the device: the second half gives EIO.
t.case("a loop device cut from 8 to 4 MiB: 512 good reads, then EIO at 4194304", function()
  if not root then t.skip("needs root for a loop device") end
  local image = os.tmpname()
  os.execute("head -c 8388608 /dev/urandom > " .. image)
  local device = t.run("losetup -f --show " .. image):match("^(/dev/loop%d+)")
  if not device then
    os.remove(image)
    t.skip("no loop device can be had")
  end
  os.execute("truncate -s 4194304 " .. image)
  local output, status = run(([[
    local r = assert(iolua.job { target = %q, rw = "read", bs = "8k", direct = true,
      continue_on_error = true })
    print(r.read.ios, r.read.bytes, r.read.errors, r.error.offset, r.error.errno,
      r.error.message)]]):format(device))
  os.execute("losetup -d " .. device)
  os.remove(image)
  t.equal(output, ("512\t4194304\t512\t4194304\t5\tread %s at 4194304: Input/output error\n")
    :format(device))
  t.equal(status, 3)
end)

t.case("one CPU is enough", function()
  local output, status = run(NOP:format(", numjobs = 3"), "taskset -c 0")
  t.equal(status, 0)
  t.contains(output, "\t300\t")
end)

t.case("a CPU outside what taskset allows is an error that names it", function()
  local output, status = run(NOP:format(", cpus = {1}"), "taskset -c 0")
  t.equal(status, 1)
  t.contains(output, "1")
  t.contains(output, "0")
end)

t.case("a stock lua5.4 can use the module", function()
  local output, status = t.run([[LUA_PATH="lua/?.lua;lua/?/init.lua;;" lua5.4 -e '
    local iolua = require "iolua"
    local r = assert(iolua.job { rw = "nop", number_ios = 100 })
    print(r.read.ios)']])
  if output:find("runtime") and output:find("ASan") then t.skip("lua5.4 is not sanitized") end
  t.equal(output, "100\n")
  t.equal(status, 0)
end)

t.done()
