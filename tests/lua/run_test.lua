-- iolua.run: placement, output, copies, failures.
local t = require "check"
local iolua = require "iolua"

local function fds()
  local stat <close> = io.open("/proc/self/stat")
  collectgarbage()
  return #t.run("ls /proc/" .. stat:read("n") .. "/fd"):gsub("[^\n]", "")
end

t.case("output is kept whole, both streams apart", function()
  local r = assert(iolua.run { "sh", "-c", "seq 1 100000; echo oops >&2" })
  t.equal(#r.out, 588895)          -- digits of 1..100000 and a newline each
  t.equal(r.err, "oops\n")
  t.equal(r.exit, 0)
  t.equal(#r.copies, 1)
end)

t.case("wall time is the program's own", function()
  local r = assert(iolua.run { "sleep", 0.2 })
  t.ok(r.wall_ns >= 200e6 and r.wall_ns < 5e9, r.wall_ns)
  t.equal(r.end_ns - r.begin_ns, r.wall_ns)
end)

t.case("it runs on its CPUs, in its folder, with its variables and input", function()
  local r = assert(iolua.run { "sh", "-c", "grep Cpus_allowed_list /proc/self/status; pwd;"
    .. "echo $COLOUR $LC_ALL; cat", cpus = "0", dir = "/", env = { COLOUR = "red" },
    input = "typed\n" })
  t.equal(r.out, "Cpus_allowed_list:\t0\n/\nred C\ntyped\n")
end)

t.case("the program's group is its own, and it has no file but its streams", function()
  local r = assert(iolua.run { "sh", "-c", "for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do "
    .. "[ -e /proc/$$/fd/$i ] && printf '%s ' $i; done; true" })
  t.equal(r.out, "0 1 2 ")
end)

t.case("copies run at once, each knows its number", function()
  local r = assert(iolua.run { "sh", "-c", function(i) return "sleep 0.3; echo " .. i end,
    copies = 3 })
  for i = 1, 3 do t.equal(r.copies[i].out, i .. "\n") end
  local sum = 0
  for _, c in ipairs(r.copies) do sum = sum + c.wall_ns end
  t.ok(r.wall_ns < sum, "overlap")
  t.equal(r.out, nil)
end)

t.case("copies that are not together run one after another", function()
  local r = assert(iolua.run { "true", copies = 2, together = false })
  t.ok(r.copies[1].end_ns <= r.copies[2].begin_ns, "order")
end)

t.case("other fibers run meanwhile", function()
  local n = 0
  local other = iolua.spawn(function()
    for _ = 1, 5 do iolua.sleep("5ms"); n = n + 1 end
  end)
  assert(iolua.run { "sleep", 0.3 })
  t.equal(n, 5)
  other:join()
end)

t.case("an exit status is a failure with the last line, unless it is not checked", function()
  local r, message, errno, partial = iolua.run { "sh", "-c", "echo bad luck >&2; exit 3" }
  t.equal(r, nil)
  t.equal(message, "run sh: ended by exit status 3: bad luck")
  t.equal(errno, nil)
  t.equal(partial.exit, 3)
  t.equal(assert(iolua.run { "sh", "-c", "exit 3", check = false }).exit, 3)
  t.equal(assert(iolua.run { "sh", "-c", "kill -9 $$", check = false }).signal, 9)
end)

t.case("what takes too long is ended, and what it printed is there", function()
  local r, message, errno, partial = iolua.run { "sh", "-c", "echo so far; sleep 1000",
    timeout = "200ms", grace = "100ms" }
  t.equal(r, nil)
  t.equal(message, "run sh: not done after 200 ms")
  t.equal(errno, 110)
  t.equal(partial.out, "so far\n")
end)

t.case("an error in the script ends the program", function()
  local told = os.tmpname()
  local ok = pcall(function()
    local other = iolua.spawn(function()
      iolua.run { "sh", "-c", "echo $$ > " .. told .. "; exec sleep 1000" }
    end)
    iolua.sleep("300ms")
    other:cancel()
    error(select(2, pcall(other.join, other)))
  end)
  t.equal(ok, false)
  local f <close> = io.open(told)
  os.remove(told)
  t.equal(io.open("/proc/" .. f:read("n") .. "/stat"), nil)
end)

t.case("a missing program is a sentence, with its package where that is known", function()
  local _, message, errno = iolua.run { "no-such-program" }
  t.equal(message, "run no-such-program: there is no such program")
  t.equal(errno, 2)
  t.equal(require("iolua.run.packages").missing("bonnie++"),
    "run bonnie++: not installed: apt-get install bonnie++")
end)

t.case("misuse raises", function()
  t.raises("the first word must be the program's name", iolua.run, {})
  t.raises("word 2 is a table", iolua.run, { "true", {} })
  t.raises("word 1 has a zero byte", iolua.run, { "tr\0ue" })
  t.raises("word 2 has a zero byte", iolua.run, { "true", "a\0b" })
  for _, name in ipairs { "", "a=b", "a\0", 1 } do
    t.raises("is not a variable's name", iolua.run, { "true", env = { [name] = "x" } })
  end
  t.raises("env: A is not a string", iolua.run, { "true", env = { A = {} } })
  t.raises("env: A is not a string", iolua.run, { "true", env = { A = "x\0y" } })
  t.raises('unknown option "cpu"', iolua.run, { "true", cpu = 0 })
  t.raises("cpus: ", iolua.run, { "true", cpus = "x" })
end)

t.case("what cannot be placed is told", function()
  local r, message, errno = iolua.run { "true", cgroup = "/no/such" }
  t.equal(r, nil)
  t.equal(message, "run true: cgroup /no/such: No such file or directory")
  t.equal(errno, 2)
end)

t.case("a written megabyte shows in the tree's bytes", function()
  local r = assert(iolua.run { "sh", "-c",
    "dd if=/dev/zero of=iolua-run.tmp bs=64k count=16 conv=fsync; rm iolua-run.tmp",
    dir = os.getenv("TMPDIR") or "/tmp" })
  if r.write_bytes == 0 then t.skip("the temporary folder is not on a disk") end
  t.ok(r.write_bytes >= 1 << 20 and r.write_bytes < (1 << 20) + (1 << 16), r.write_bytes)
end)

t.case("nothing stays open", function()
  assert(iolua.run { "true" })
  collectgarbage()
  local before = fds()
  for _ = 1, 5 do assert(iolua.run { "true" }) end
  -- A descriptor whose last user ends elsewhere goes a moment later.
  for _ = 1, 50 do
    if fds() <= before then return end
    iolua.sleep("20ms")
  end
  t.equal(fds(), before)
end)

t.done()
