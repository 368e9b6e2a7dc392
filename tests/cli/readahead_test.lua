-- The read-ahead scenario, short, on scratch disks: amplification as the kernel's read-ahead
-- makes it, and everything as it was afterwards. All by bytes that the kernel counts: what else
-- the machine does changes no number here.
local t = require "check"

local IOLUA = os.getenv("IOLUA")
local SCENARIO = IOLUA .. " scenarios/readahead_compare.lua --replicates 1 --size 16m "

-- Its output; skipped where there are no scratch disks. Its journal and mounts are in a folder of
-- its own, where nothing may be left.
local function run(words)
  if t.run("id -u") ~= "0\n" then t.skip("scratch disks need root") end
  local state = t.run("mktemp -d"):match("%S+")
  local out, status = t.run(("IOLUA_STATE=%s "):format(state) .. SCENARIO .. words)
  t.equal(t.run("ls " .. state), "")
  t.equal(t.run("grep " .. state .. " /proc/self/mountinfo"), "")
  t.run("rmdir " .. state)
  if out:find("without scratch disks name", 1, true) then t.skip("no loop devices here") end
  t.equal(status, 0, out)
  return out
end

-- Amplification of a pattern's line, by column.
local function read_of(out, pattern)
  local line = out:match("\n(" .. pattern .. "%s[^\n]*%([^\n]*)")
  local list = {}
  for x in line:gmatch("%((%S+)%)") do list[#list + 1] = tonumber(x) end
  return list
end

t.case("what the scenario can do is in its help", function()
  local out, status = t.run(IOLUA .. " scenarios/readahead_compare.lua --help")
  t.equal(status, 0)
  for _, word in ipairs { "--device", "--volume", "--values", "--views", "--memory", "--copies",
                          "--drop" } do
    t.contains(out, word)
  end
end)

t.case("what it cannot take is named", function()
  local out, status = t.run(SCENARIO .. "--values 1m,128k")
  t.equal(status, 1)
  t.contains(out, "--values: 128k is not more than 1m: they rise")
  out, status = t.run(SCENARIO .. "--views all")
  t.equal(status, 1)
  t.contains(out, "--views all: it is of values, legs, thrash, copies")
end)

t.case("faults and short runs read more at larger values, plain random preads do not", function()
  local out = run("--views values --values 0,128k,4m --patterns random,extents,mmap "
    .. "--operations 60")
  t.contains(out, "in KiB                  0           128          4096")
  t.contains(out, "in sectors              0           256          8192")
  local random, extents, mmap = read_of(out, "random"), read_of(out, "extents"),
    read_of(out, "mmap")
  t.near(random[1], 1, 0.02)
  t.near(random[2], 1, 0.02)
  t.near(random[3], 1, 0.02)
  t.ok(extents[1] <= 1.05, "single pages read what is asked: " .. extents[1])
  t.ok(extents[2] > 1.5 * extents[1], "runs of four at 128k: " .. extents[2])
  t.ok(extents[3] > 1.2 * extents[2], "runs of four at 4m: " .. extents[3])
  t.near(mmap[1], 1, 0.2)
  t.ok(mmap[2] > 10, "a fault at 128k reads a window")
  t.ok(mmap[3] > mmap[2] * 1.5, "and a larger one at 4m")
  t.contains(out, "random       equivalent: every value reads 1.0")
  t.contains(out, "extents      loses from 128k on")
  t.contains(out, "mmap         loses from 128k on")
  t.contains(out, "lacks: scratch disks share one real disk")
end)

t.case("who is not root reads as found, and is told so", function()
  local words = SCENARIO .. "--size 4m --patterns sequential,random"
  if t.run("id -u") == "0\n" then
    if select(2, t.run("command -v setpriv")) ~= 0 then t.skip("no setpriv to drop root") end
    if not t.readable_to_others() then t.skip("the tree is not readable to others") end
    words = "setpriv --reuid 65534 --regid 65534 --clear-groups env IOLUA_STATE= XDG_RUNTIME_DIR= "
      .. words
  end
  local out, status = t.run(words)
  if status == 126 or status == 127 then t.skip("another user cannot run the tree here") end
  t.equal(status, 0, out)
  t.contains(out, "without root no value can be set")
  t.contains(out, "sequential   as found ")
end)

t.case("in short memory a large read-ahead reads its own pages again", function()
  local out = run("--views thrash --values 0,8m")
  if out:find("lacks: thrash: memory:", 1, true) then t.skip(out:match("lacks: (thrash[^\n]*)")) end
  local _, none, pages = out:match("\n0 +(%S+) +(%S+) +(%S+)\n")
  local _, more, again = out:match("\n8m +(%S+) +(%S+) +(%S+)\n")
  t.ok(tonumber(none) < 1.5, "single pages are read once: " .. none)
  t.ok(tonumber(more) > 1.5 * none, "bytes for each byte asked: " .. more)
  t.ok(tonumber(again) > tonumber(pages) + 1000, "pages read again: " .. again)
  t.contains(out, " on: pages are dropped before they are used and read again")
end)

t.case("copies in step have their volumes, and nothing of them is left", function()
  local out = run("--views copies --copies 2")
  if out:find("lacks: copies:", 1, true) then t.skip(out:match("lacks: (copies[^\n]*)")) end
  t.contains(out, "2 copies of bonnie's tests in step")
  t.contains(out, "in KiB                        512          4096")
  local small, large = out:match("\ndisk_read +MB +(%S+) +(%S+)")
  -- Each file of 8 MiB is read, rewritten and sought in: it came from the disks.
  t.ok(tonumber(small) >= 2 * 8.388 and tonumber(large) >= 2 * 8.388, "read from the disks")
end)

t.case("where no run could be made, the end says why, with status 1", function()
  if not t.run("id -u"):match("^0") then t.skip("without root nothing is set that could fail") end
  local dir = t.run("mktemp -d"):gsub("%s", "")
  local out, status = t.run(("chmod 1777 %s; IOLUA_STATE=%s %s scenarios/readahead_compare.lua "
    .. "--views values --replicates 1 --size 2m --operations 4 --patterns random --values 128k; "
    .. "s=$?; rm -r %s; exit $s"):format(dir, dir, os.getenv("IOLUA"), dir))
  t.equal(status, 1, out)
  t.contains(out, "nothing was measured: ")
  t.contains(out, "nobody else may write to it")
end)

t.done()
