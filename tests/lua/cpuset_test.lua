--- iolua.cpuset: lists of CPUs as values, and pinning by them.
local t = require "check"
local iolua = require "iolua"

local cpuset = iolua.cpuset

for text, want in pairs {
  ["0-3,8-11:2"] = { 0, 1, 2, 3, 8, 10 }, ["010"] = { 10 }, ["4-4"] = { 4 }, [""] = {},
  ["0-23:2,24-47:4"] = { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 44 },
} do
  t.case(("%q is its CPUs"):format(text), function()
    local set = cpuset(text)
    t.same(set:list(), want)
    t.equal(#set, #want)
    t.equal(set:first(), want[1])
    local each, indexed = {}, {}
    for cpu in set:each() do each[#each + 1] = cpu end
    for i, cpu in ipairs(set) do indexed[i] = cpu end
    t.same(each, want)
    t.same(indexed, want)
    t.ok(cpuset(tostring(set)) == set, "a set is read back from its text")
    t.ok(cpuset(want) == set, "a table of numbers is the same set")
  end)
end

for text, place in pairs {
  ["3-1"] = 'backwards at "1"', ["1,2abc,3"] = 'at "abc,3"', ["0--1"] = 'at "-1"', a = 'at "a"',
  [","] = 'at ","', ["0-"] = "at the end", ["0-3:0"] = 'stride of 0 at "0"',
  ["0-18446744073709551615"] = 'at "18446744073709551615"', ["0\0001"] = 'at "?1"',
  ["8192"] = "above 8191",
} do
  t.case(("%q is refused at its place"):format(text), function()
    local before = os.clock()
    t.raises(place, cpuset, text)
    t.ok(os.clock() - before < 0.1, "refused at once")
  end)
end

t.case("numbers and tables are checked", function()
  t.equal(tostring(cpuset(3)), "3")
  for _, bad in ipairs { -1, 8192, 1.5, 0 / 0, 2 ^ 53 } do t.raises("in 0..8191", cpuset, bad) end
  for _, bad in ipairs { { -1 }, { 0, "1" }, { 1.5 }, { 8192 }, { {} } } do
    t.raises("is not a CPU number in 0..8191", cpuset, bad)
  end
  t.raises("got boolean", cpuset, true)
  t.raises("got nil", cpuset, nil)
end)

t.case("operators make new sets and take any CPU list", function()
  local a, b = cpuset "0-3", cpuset "2-5"
  t.equal(tostring(a | b), "0-5")
  t.equal(tostring(a & b), "2-3")
  t.equal(tostring(a - b), "0-1")
  t.equal(tostring(a | "8"), "0-3,8")
  t.equal(tostring({ 1, 9 } & a), "1")
  t.equal(tostring(a), "0-3")
  t.ok(a ~= b and a == cpuset { 3, 2, 1, 0 })
  t.ok(a ~= "0-3")
  t.raises("CPU list", function() return a | true end)
end)

t.case("contains asks for one CPU or all of a list", function()
  local set = cpuset "0-3,8"
  t.equal(set:contains(8), true)
  t.equal(set:contains(7), false)
  t.equal(set:contains("1-2,8"), true)
  t.equal(set:contains({ 0, 9 }), false)
end)

t.case("masks are those of /proc/irq", function()
  local from_mask = require("iolua.core").cpuset.from_mask
  local set = from_mask "00000000,08000000"
  t.equal(tostring(set), "27")
  t.equal(set:mask(64), "00000000,08000000")
  t.equal(set:mask(), "08000000")
  t.raises('at "x1"', from_mask, "0x1")
end)

t.case("~ is the rest of this machine", function()
  local machine = iolua.topo():cpus()
  local first = machine:first()
  t.ok(~cpuset(first) == machine - first)
  t.equal(#~machine, 0)
  t.ok(~cpuset "" == machine)
end)

t.case("a set cannot be changed", function()
  local set = cpuset "1"
  t.ok(not pcall(function() set[1] = 2 end))
  t.equal(getmetatable(set), false)
  t.equal(set.nothing, nil)
end)

t.case("pinning is seen by the kernel and undone by pinning", function()
  local before = iolua.pinned()
  local one = before:list()[#before]
  t.equal(iolua.pin(one), true)
  t.equal(tostring(iolua.pinned()), tostring(one))
  local file = assert(io.open("/proc/self/status"))
  t.contains(file:read("a"), "Cpus_allowed_list:\t" .. one .. "\n")
  file:close()
  t.equal(iolua.pin(tostring(before)), true)
  t.ok(iolua.pinned() == before)
end)

t.case("an absent CPU is named, with those that are there", function()
  local ok, message, errno = iolua.pin "0-8191"
  t.equal(ok, nil)
  t.contains(message, "absent; this machine has ")
  t.equal(errno, 19)
  t.contains(select(2, iolua.pin ""), "no CPU to run on")
  t.raises("CPU list", iolua.pin, nil)
end)

t.case("what taskset took away cannot be pinned to", function()
  local list = iolua.pinned():list()
  if #list < 2 then t.skip("one CPU only") end
  local script = ("local iolua = require 'iolua'; print(iolua.pin(%d)); " ..
    "print(iolua.pin(%d), iolua.topo():allowed(), iolua.topo():cpus():contains(%d), " ..
    "select(3, iolua.topo():farthest(%d)))"):format(list[1], list[2], list[1], list[2])
  local out, status = t.run(("taskset -c %d %s -e %q"):format(list[2], os.getenv "IOLUA", script))
  t.equal(status, 0, out)
  t.contains(out, ("nil\tCPU %d: not allowed here (taskset or cgroup); allowed: %d\t1\n")
    :format(list[1], list[2]))
  t.contains(out, ("true\t%d\ttrue\tnone allowed\n"):format(list[2]))
end)

t.case("a thread that was pinned can be pinned elsewhere", function()
  local before = iolua.pinned()
  for cpu in before:each() do t.equal(iolua.pin(cpu), true) end
  t.equal(iolua.pin(before), true)
end)

t.done()
