-- Every operation of iolua.fs and the rest of the file's, against the real file system.
-- tests/cli/engines_test.lua runs this file again where io_uring is forbidden.
local t = require "check"
local iolua = require "iolua"
local core = require "iolua.core"
local fs = iolua.fs

local folder = t.run("mktemp -d"):match("%S+")
local function at(name) return folder .. "/" .. name end

local function make(name, bytes)
  return assert(iolua.open(at(name), { write = true, create = true, overwrite = true })),
    bytes and iolua.buffer(bytes):fill { seed = #name }
end

local function fails(want, errno, ...)
  local value, message, code = ...
  t.equal(value, nil)
  t.equal(message, want)
  t.equal(code, errno)
end

t.case("mkdir, stat and rmdir", function()
  t.equal(fs.mkdir(at "d"), true)
  t.equal(fs.stat(at "d").type, "folder")
  fails("mkdir " .. at "d" .. ": File exists", 17, fs.mkdir(at "d"))
  t.equal(fs.mkdir(at "m", 448), true)
  t.equal(fs.stat(at "m").mode, 448)
  t.equal(fs.rmdir(at "d"), true)
  t.equal(fs.rmdir(at "m"), true)
  fails("stat " .. at "d" .. ": No such file or directory", 2, fs.stat(at "d"))
  fails("rmdir " .. at "d" .. ": No such file or directory", 2, fs.rmdir(at "d"))
  t.equal(fs.exists(at "d"), false)
end)

t.case("stat tells what stat(1) does", function()
  local f, b = make("s", 1000)
  f:write(b, 0)
  f:close()
  local st = assert(fs.stat(at "s"))
  local want = t.run("stat -c '%s %h %u %g %i %a %Y' " .. at "s")
  t.equal(("%d %d %d %d %d %o %d\n"):format(st.size, st.nlink, st.uid, st.gid, st.inode, st.mode,
    st.mtime_ns // 1000000000), want)
  t.equal(st.type, "regular")
  st = fs.stat("/dev/null")
  t.equal(st.type, "char")
  t.same(st.rdevice, { major = 1, minor = 3 })
  fs.remove(at "s")
end)

t.case("rename, link, symlink and remove", function()
  make("a"):close()
  t.equal(fs.rename(at "a", at "b"), true)
  t.equal(fs.exists(at "a"), false)
  t.equal(fs.link(at "b", at "c"), true)
  t.equal(fs.stat(at "b").nlink, 2)
  t.equal(fs.symlink("b", at "l"), true)
  t.equal(fs.stat(at "l").type, "regular")
  t.equal(fs.stat(at "l", false).type, "link")
  for _, name in ipairs { "b", "c", "l" } do t.equal(fs.remove(at(name)), true) end
  fails("remove " .. at "b" .. ": No such file or directory", 2, fs.remove(at "b"))
  fails("rename " .. at "a" .. ": No such file or directory", 2, fs.rename(at "a", at "b"))
end)

t.case("a folder's entries are listed, also thousands", function()
  fs.mkdir(at "many")
  for i = 1, 3000 do make(("many/%04d"):format(i)):close() end
  fs.mkdir(at "many/z")
  local list = assert(fs.list(at "many"))
  t.equal(#list, 3001)
  t.same(list[1], { name = "0001", type = "regular" })
  t.same(list[3001], { name = "z", type = "folder" })
  t.run("rm -rf " .. at "many")
  fails("open " .. at "many" .. ": No such file or directory", 2, fs.list(at "many"))
end)

t.case("make_path makes what is missing", function()
  t.equal(fs.make_path(at "p/q/r"), true)
  t.equal(fs.make_path(at "p/q/r"), true)
  t.equal(fs.stat(at "p/q/r").type, "folder")
  make("file"):close()
  t.equal(select(3, fs.make_path(at "file/x")), 20)
end)

t.case("NUL in a path is refused", function()
  for _, fn in ipairs { fs.mkdir, fs.remove, fs.stat, fs.open, fs.rmdir } do
    t.raises("contains a NUL byte", fn, at "x\0y")
  end
  t.raises("contains a NUL byte", fs.rename, at "x", "y\0")
  t.raises("string expected", fs.mkdir, 5)
end)

t.case("open and close wait in the loop; what is opened reads", function()
  local w, b = make("o", 4096)
  w:write(b, 0)
  local f = assert(fs.open(at "o"))
  local c = iolua.buffer(4096)
  t.equal(f:read(c, 0), 4096)
  t.equal(c:string(), b:string())
  t.equal(f:writable(), false)
  t.equal(fs.close(f), true)
  t.raises("file is closed", f.read, f, c, 0)
  t.raises("file is closed", fs.close, f)
  f = assert(fs.open(at "o"))
  f:close()
  fails("open " .. at "nosuch" .. ": No such file or directory", 2, fs.open(at "nosuch"))
end)

t.case("descriptors do not leak, also of cancelled opens", function()
  local function open_now() return #fs.list("/proc/self/fd") end
  local before = open_now()
  for i = 1, 200 do
    local f = iolua.spawn(fs.open, at "o")
    iolua.sleep(0)
    if i % 2 == 0 then f:cancel() end
    local file = f:join()
    if file then file:close() end
  end
  collectgarbage()
  t.equal(open_now(), before)
end)

t.case("readv and writev move several buffers in order", function()
  local f <close> = make "v"
  local a, b, c = iolua.buffer(100), iolua.buffer(4096), iolua.buffer(1)
  a:fill { byte = 1 } b:fill { byte = 2 } c:fill { byte = 3 }
  t.equal(f:writev({ a, b, c }, 10), 4197)
  t.equal(f:size(), 4207)
  local d, e = iolua.buffer(50), iolua.buffer(51)
  t.equal(f:readv({ d, e }, 10), 101)
  t.equal(d:string(), ("\1"):rep(50))
  t.equal(e:string(), ("\1"):rep(50) .. "\2")
  t.equal(f:readv({ c, b }, 4206), 1)
  t.equal(c:string(), "\3")
  t.raises("1 to 1024 buffers", f.readv, f, {}, 0)
  t.raises("iolua.buf expected", f.readv, f, { a, "x" }, 0)
  t.raises("plain list", f.readv, f, setmetatable({ a }, {}), 0)
  t.raises("not in 0..", f.readv, f, { a }, -1)
end)

t.case("allocate extends, keeps the size, zeroes and punches", function()
  local f <close>, b = make("f", 16384)
  local ok, message, errno = f:allocate(0, 8192)
  if not ok and errno == 95 then t.skip(message) end
  t.equal(f:size(), 8192)
  t.equal(f:allocate(0, 65536, "keep_size"), true)
  t.equal(f:size(), 8192)
  f:write(b, 0)
  f:fsync()
  local text = b:string()
  t.equal(f:allocate(4096, 4096, "punch_hole"), true)
  f:read(b, 0)
  t.ok(b:string() == text:sub(1, 4096) .. ("\0"):rep(4096) .. text:sub(8193), "a hole")
  t.raises("one of extend, keep_size", f.allocate, f, 0, 1, "shrink")
  t.raises("0 is not in 1..", f.allocate, f, 0, 0)
  t.raises("is not in 0..", f.allocate, f, math.maxinteger, 1)
  local reader <close> = assert(iolua.open(at "f"))
  fails("allocate " .. at "f" .. ": Bad file descriptor", 9, reader:allocate(0, 1))
end)

t.case("sync_range and advise are accepted", function()
  local f <close>, b = make("g", 65536)
  f:write(b, 0)
  t.equal(f:sync_range(0, 65536), true)
  t.equal(f:sync_range(0, 4096, "start"), true)
  for _, what in ipairs { "normal", "sequential", "random", "willneed", "dontneed", "noreuse" } do
    t.equal(f:advise(0, 65536, what), true, what)
  end
  t.raises("one of normal, sequential", f.advise, f, 0, 1, "never")
  t.raises("not in 1..", f.sync_range, f, 0, 1 << 33)
end)

t.case("splice moves bytes through a pipe", function()
  local from <close>, b = make("from", 10000)
  local to <close> = make "to"
  from:write(b, 0)
  local reader, writer = fs.pipe()
  t.equal(fs.splice(from, 1000, writer, nil, 5000), 5000)
  t.equal(fs.splice(reader, nil, to, 7, 5000), 5000)
  t.equal(to:size(), 5007)
  local c = iolua.buffer(5000)
  to:read(c, 7)
  t.ok(c:string() == b:string(1001, 6000), "the bytes")
  t.equal(select(3, fs.splice(from, 0, to, 0, 10)), 22)
  t.equal(select(3, fs.splice(reader, nil, from:path() and iolua.open(at "from"), 0, 10)), 9)
  reader:close()
  writer:close()
end)

t.case("a pipe carries bytes between fibers", function()
  local reader, writer = fs.pipe()
  local got = iolua.spawn(function()
    local b = iolua.buffer(100)
    local n = reader:read(b, 0)
    return b:string(1, n)
  end)
  iolua.sleep("1ms")
  local b = iolua.buffer(100)
  b:set("through the pipe")
  t.equal(writer:write(b, 0, 16), 16)
  t.equal(got:join(), "through the pipe")
  writer:close()
  t.equal(reader:read(b, 0), 0)
  reader:close()
end)

t.case("fs.engine tells who does an operation", function()
  local engine = core.fiber.engine()
  t.equal(fs.engine("read"), engine)
  t.equal((fs.engine("list")), "threads")
  t.equal((fs.engine("discard")), "threads")
  t.raises("no operation fly", fs.engine, "fly")
end)

t.case("many operations of all kinds run at once", function()
  local list = {}
  for i = 1, 300 do
    list[i] = iolua.spawn(function()
      local name = at("x" .. i)
      assert(fs.mkdir(name))
      assert(fs.stat(name).type == "folder")
      assert(#fs.list(name) == 0)
      assert(fs.rename(name, name .. "y"))
      assert(fs.rmdir(name .. "y"))
    end)
  end
  for _, x in ipairs(list) do x:join() end
end)

t.run("rm -rf " .. folder)
t.done()
