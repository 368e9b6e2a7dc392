-- A program that iolua runs ends with it: after ^C, kill -9 and the end of the script.
local t = require "check"
local IOLUA = os.getenv("IOLUA")
local dir = io.popen("mktemp -d"):read("l")

local SCRIPT = [[
local iolua = require "iolua"
local what = ...
if what == "left" then
  iolua.spawn(function() iolua.run { "sh", "-c", "echo $$ > %s/pid; exec sleep 1000" } end)
  iolua.sleep("500ms")
  os.exit(5)
end
iolua.run { "sh", "-c", "sleep 1000 & echo $! > %s/child; echo $$ > %s/pid; wait" }
]]
local path = dir .. "/script.lua"
local f = io.open(path, "w")
f:write(SCRIPT:format(dir, dir, dir))
f:close()

local function sh(text) return (t.run(text:gsub("DIR", dir))) end

local function alive(name)
  return sh("kill -0 $(cat DIR/" .. name .. ") 2>/dev/null && echo yes || echo no") == "yes\n"
end

-- Start the script, wait until the program runs, send a signal, wait at most 5 s for its end.
local function after(signal, status)
  sh("rm -f DIR/pid DIR/child DIR/status")
  sh(("{ %s DIR/script.lua & p=$!; for i in $(seq 100); do [ -s DIR/pid ] && break;"
    .. " sleep 0.1; done; kill -%s $p; wait $p; echo $? > DIR/status; } >/dev/null 2>&1"):format(
    IOLUA, signal))
  for _ = 1, 50 do
    if not alive("pid") and not alive("child") then break end
    sh("sleep 0.1")
  end
  t.equal(alive("pid"), false, "program alive")
  t.equal(alive("child"), false, "its child alive")
  t.equal(sh("cat DIR/status"), status .. "\n")
end

t.case("kill -9 leaves nothing of what was run", function() after("KILL", 137) end)
t.case("TERM ends it and its children", function() after("TERM", 143) end)

t.case("os.exit ends what another fiber runs", function()
  sh("rm -f DIR/pid")
  local _, status = t.run(IOLUA .. " " .. path .. " left")
  t.equal(status, 5)
  t.equal(alive("pid"), false)
end)

t.case("a stock lua5.4 runs programs too, minded by the iolua beside its module", function()
  local out, status = t.run("lua5.4 -e 'print((require(\"iolua\").run { \"echo\", \"hi\" }).out)'")
  if status ~= 0 and (os.getenv("IOLUA_BUILD") or ""):find("san$") then
    t.skip("a sanitized module cannot be loaded by lua5.4")
  end
  t.equal(status, 0, out)
  t.equal(out, "hi\n\n")
end)

sh("rm -rf DIR")
t.done()
