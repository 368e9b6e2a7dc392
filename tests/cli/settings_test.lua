-- Every way out of a run puts a loop device's queue back; so does the next start after kill -9.
local t = require "check"

local IOLUA = os.getenv("IOLUA")
local FULL = (os.getenv("FULL") or "") ~= ""
local KILLS = tonumber(os.getenv("IOLUA_KILLS") or FULL and 1000 or 20)

local dir = t.run("mktemp -d /tmp/iolua-settings-XXXXXX"):gsub("\n", "")
local device, queue, found          -- the loop device, its folder, its values when we came
local why_not

-- The values of every attribute, as one text.
local function values(folder)
  return (t.run(("cd %s && grep -s . $(ls -p . | grep -v /) iosched/* | sort"):format(folder)))
end

local function write(name, value)
  t.run(("echo '%s' > %s/%s"):format(value, queue, name))
end

local function read(name)
  return (t.run(("cat %s/%s"):format(queue, name)):gsub("\n$", ""))
end

local function set_up()
  if t.run("id -u") ~= "0\n" then return "loop devices need root" end
  local out, code = t.run(("truncate -s 16M %s/image && losetup -f --show %s/image"):format(dir,
    dir))
  if code ~= 0 then return "no loop device: " .. out end
  device = out:gsub("\n", "")
  queue = "/sys/block/" .. device:match("[^/]+$") .. "/queue"
  found = { read_ahead_kb = read("read_ahead_kb"), rq_affinity = read("rq_affinity"),
    scheduler = read("scheduler"):match("%[(.-)%]") }
  -- Not what any kernel starts with: the exact values must come back.
  write("scheduler", "none")
  write("rq_affinity", "1")
  write("read_ahead_kb", "2560")
end

-- Loop devices keep their queue's values when they are detached.
local function tear_down()
  if device then
    write("scheduler", found.scheduler)
    write("rq_affinity", found.rq_affinity)
    write("read_ahead_kb", found.read_ahead_kb)
    t.run("losetup -d " .. device)
  end
  t.run("rm -rf " .. dir)
end

local SET = [[
local settings = require("iolua").settings
assert(settings.set(DEVICE, { read_ahead_kb = 4096, scheduler = "mq-deadline", rq_affinity = 2,
  nomerges = 2, max_sectors_kb = 512, nr_requests = 64, iostats = 0,
  write_cache = "write through", iosched = { fifo_batch = 3 } }))
]]

-- A command that runs iolua on a script text, with a journal folder of its own.
local function command(text)
  local path = dir .. "/script.lua"
  local f = assert(io.open(path, "w"))
  f:write(("local DEVICE = %q\n"):format(device), text)
  f:close()
  return ("env IOLUA_STATE=%s/state %s %s"):format(dir, IOLUA, path)
end

local function restore()
  return t.run(("IOLUA_STATE=%s/state %s --restore"):format(dir, IOLUA))
end

local function journals()
  return (t.run(("ls %s/state 2>/dev/null"):format(dir)))
end

local function case(name, fn)
  t.case(name, function()
    if why_not then t.skip(why_not) end
    local before = values(queue)
    fn(before)
    t.equal(values(queue), before)
    t.equal(journals(), "")
    t.equal(read("read_ahead_kb"), "2560")
    t.equal(read("rq_affinity"), "1")
    t.contains(read("scheduler"), "[none]")
  end)
end

why_not = set_up()

case("the values are set while the run lasts", function()
  local out, code = t.run(command(SET .. [[
    for _, name in ipairs { "read_ahead_kb", "scheduler", "rq_affinity", "nr_requests",
      "iosched/fifo_batch" } do
      print(name, (require("iolua").settings.get(DEVICE))[name] or
        io.open("/sys/block/" .. DEVICE:match("[^/]+$") .. "/queue/" .. name):read("l"))
    end]]))
  t.equal(code, 0)
  t.equal(out, "read_ahead_kb\t4096\nscheduler\tmq-deadline\nrq_affinity\t2\n"
    .. "nr_requests\t64\niosched/fifo_batch\t3\n")
end)

for sectors, kib in pairs { [65536] = 32768, [1024] = 512, [8192] = 4096 } do
  case(("%d sectors of read-ahead are %d KiB, also for blockdev"):format(sectors, kib), function()
    for _, value in ipairs { "read_ahead_sectors = " .. sectors, "read_ahead_kb = " .. kib } do
      local out = t.run(command(([[
        assert(require("iolua").settings.set(DEVICE, { %s }))
        os.execute("blockdev --getra " .. DEVICE)
        os.execute("cat /sys/block/" .. DEVICE:match("[^/]+$") .. "/queue/read_ahead_kb")]])
        :format(value)))
      t.equal(out, ("%d\n%d\n"):format(sectors, kib))
    end
  end)
end

case("the disk under a file is the one its filesystem lies on", function()
  local point = dir .. "/mnt"
  t.equal(select(2, t.run(("mkfs.ext4 -q %s && mkdir %s && mount %s %s && echo x > %s/file")
    :format(device, point, device, point, point))), 0)
  local out = t.run(command(([[
    local iolua = require "iolua"
    local f = assert(iolua.open(%q))
    for _, what in ipairs { f, f:path() } do
      assert(iolua.settings.set(what, { read_ahead_kb = 1024 }))
      print(iolua.settings.get(DEVICE).read_ahead_kb)
      iolua.settings.restore()
    end]]):format(point .. "/file")))
  t.run("umount " .. point)
  t.equal(out, "1024\n1024\n")
end)

case("read-ahead of 127 sectors becomes 120, and it is said", function()
  if t.run("getconf PAGESIZE") ~= "4096\n" then t.skip("pages of another size") end
  local out = t.run(command([[
    local taken, notes = require("iolua").settings.set(DEVICE, { read_ahead_sectors = 127 })
    print(taken.read_ahead_sectors, taken.read_ahead_kb, notes[1])]]))
  t.equal(out, ("120\t60\t%s: read_ahead_kb: 127 sectors asked, 120 taken: whole pages\n")
    :format(device:match("[^/]+$")))
end)

case("a value that the kernel accepts and ignores is an error", function()
  local out = t.run(command([[
    local before = require("iolua").settings.get(DEVICE).nomerges
    print(require("iolua").settings.set(DEVICE, { nomerges = 2 - before, rq_affinity = 3 }))
    print(require("iolua").settings.get(DEVICE).nomerges == before)]]))
  t.contains(out, "nil\trq_affinity: 3 asked, but it is 1: "
    .. "the kernel accepts the value and ignores it\t22\ntrue\n")
end)

case("an unknown scheduler is refused with the list", function()
  local out = t.run(command([[
    print(require("iolua").settings.set(DEVICE, { scheduler = "fast" }))]]))
  t.contains(out, " has no scheduler \"fast\"; it has none, ")
end)

case("an error", function()
  local out, code = t.run(command(SET .. "error('oh')"))
  t.contains(out, "oh")
  t.equal(code, 1)
end)

case("os.exit", function()
  local _, code = t.run(command(SET .. "os.exit(7)"))
  t.equal(code, 7)
end)

for signal, status in pairs { INT = 130, TERM = 143, HUP = 129 } do
  case("SIG" .. signal, function()
    -- Not while os.execute waits: it has SIGINT ignored.
    local text = SET .. ("os.execute('(sleep 0.05; kill -%s ' .. "
      .. "io.open('/proc/self/stat'):read('n') .. ') &')\nwhile true do end"):format(signal)
    local _, code = t.run("exec timeout -s KILL 20 " .. command(text))
    t.equal(code, status)
  end)
end

-- In a tree of plain files, where an attribute can be made to refuse.
t.case("--restore takes no arguments", function()
  local output, code = t.run(os.getenv("IOLUA") .. " --restore extra")
  t.contains(output, "unknown argument extra")
  t.equal(code, 2)
end)

t.case("a restore that fails is told, kept and gives status 4", function()
  local fake = require "fake"
  local file = t.run("mktemp /tmp/iolua-file-XXXXXX"):gsub("\n", "")
  local number, sys = fake.device_of(file), "/sys/devices/virtual/block/x"
  local root = fake.tree { files = { [sys .. "/dev"] = number,
    [sys .. "/queue/read_ahead_kb"] = "128", [sys .. "/queue/nomerges"] = "0" },
    links = { ["/sys/dev/block/" .. number] = "ROOT" .. sys } }
  local path = root .. sys .. "/queue/read_ahead_kb"
  local f = assert(io.open(root .. "/script.lua", "w"))
  f:write(("local settings = require('iolua').settings\nsettings.root = %q\n"
    .. "assert(settings.set(%q, { read_ahead_kb = 8, nomerges = 2 }))\n"
    .. "assert(os.execute('chattr +i %s 2>/dev/null'))"):format(root, file, path))
  f:close()
  local run = ("IOLUA_STATE=%s/state %s "):format(root, IOLUA)
  local out, code = t.run(run .. root .. "/script.lua")
  if code == 1 then
    fake.remove(root)
    t.skip("no file that refuses writes can be made here")
  end
  t.contains(out, path .. " could not be put back to \"128\": write \"128\" to ")
  t.contains(out, "Operation not permitted")
  t.equal(code, 4)
  t.equal(fake.read(root .. sys .. "/queue/nomerges"), "0")
  out, code = t.run(run .. "-e 'print(7)'")
  t.contains(out, "could not be put back to \"128\"")
  t.equal(code, 4)
  t.run("chattr -i " .. path)
  t.equal(select(2, t.run(run .. "--restore")), 0)
  t.equal(fake.read(path), "128")
  t.equal(t.run("ls " .. root .. "/state"), "")
  os.remove(file)
  fake.remove(root)
end)

-- Killed with its values set; out is what it wrote before.
local function killed(text)
  local _, code = t.run("exec " .. command(text
    .. "\nos.execute('kill -KILL ' .. io.open('/proc/self/stat'):read('n'))"))
  t.equal(code, 137)
  t.equal(read("read_ahead_kb"), "4096")
end

case("the next start after SIGKILL, which says so", function()
  killed(SET)
  local out, code = t.run(command("print('new run')"))
  t.contains(out, "new run")
  t.contains(out, "which was killed, had changed")
  t.equal(code, 0)
end)

case("iolua --restore after SIGKILL", function()
  killed(SET)
  local out, code = restore()
  t.contains(out, "iolua: put back ")
  t.equal(code, 0)
  t.equal(restore(), "iolua: nothing to undo\n")
end)

case("what somebody else changed is told and left", function()
  local out, code = t.run(command(SET .. "os.execute('echo 777 > /sys/block/' .. "
    .. "DEVICE:match('[^/]+$') .. '/queue/read_ahead_kb')"))
  t.contains(out, "somebody else changed it to \"776\" meanwhile, left (it was \"2560\")")
  t.equal(code, 4)
  t.equal(read("read_ahead_kb"), "776")
  write("read_ahead_kb", "2560")
end)

case("what a live run holds is refused with its pid", function()
  local text = SET .. [[
    print(io.open('/proc/self/stat'):read('n'))
    io.stdout:flush()
    io.read()]]
  local first = command(text)
  t.run(("mkfifo %s/fifo"):format(dir))
  local run = io.popen(("exec %s < %s/fifo"):format(first, dir))
  local fifo = io.open(dir .. "/fifo", "w")
  local pid = run:read("l")
  local out = t.run(command([[
    print(require("iolua").settings.set(DEVICE, { nomerges = 1 }))]]))
  t.contains(out, "nil\tqueue of " .. device:match("[^/]+$"))
  t.contains(out, "is held by pid " .. pid .. "\t16")
  fifo:write("go on\n")
  fifo:close()
  run:close()
end)

case("a record of an earlier boot is dropped with a note", function(before)
  killed(SET)
  -- The journal's first line with another boot id, and its checksum (FNV-1a).
  local path = dir .. "/state/" .. journals():gsub("\n", "")
  local f = io.open(path)
  local head, rest = f:read("l"), f:read("a")
  f:close()
  head = head:gsub(" %x+$", ""):gsub("%S+$", "00000000-0000-0000-0000-000000000000")
  local sum = 0xcbf29ce484222325
  for i = 1, #head do sum = (sum ~ head:byte(i)) * 0x100000001b3 end
  f = io.open(path, "w")
  f:write(("%s %016x\n"):format(head, sum), rest)
  f:close()
  t.contains(restore(), "they are of an earlier boot")
  t.equal(read("read_ahead_kb"), "4096")
  for _, name in ipairs { "scheduler", "rq_affinity", "nomerges", "iostats", "max_sectors_kb",
    "write_cache", "nr_requests", "read_ahead_kb" } do
    local value = before:match("%f[%w_]" .. name .. ":([^\n]*)")
    write(name, value:match("%[(.-)%]") or value)
  end
end)

case(("kill -9 at %d random moments"):format(KILLS), function(before)
  math.randomseed(7)
  local text = [[
    local settings = require("iolua").settings
    io.write(io.open("/proc/self/stat"):read("n"), "\n")
    io.stdout:flush()
    local names = { "none", "mq-deadline", "kyber", "bfq" }
    for i = 1, 1000 do
      settings.set(DEVICE, { read_ahead_kb = 4 * i, scheduler = names[i % #names + 1],
        rq_affinity = i % 3, nomerges = i % 3, max_sectors_kb = 512 + i, nr_requests = 64 })
      if i % 5 == 0 then settings.restore() end
    end]]
  local changed = 0
  for _ = 1, KILLS do
    local run = io.popen("exec " .. command(text))
    local pid = run:read("n")
    t.run(("sleep %.4f; kill -KILL %d"):format(math.random() * 0.08, pid))
    run:close()
    if values(queue) ~= before then changed = changed + 1 end
    local _, code = restore()
    t.equal(code, 0)
    t.equal(values(queue), before)
    t.equal(journals(), "")
  end
  t.ok(changed > 0, "some kill left a change behind")
end)

tear_down()
t.done()
