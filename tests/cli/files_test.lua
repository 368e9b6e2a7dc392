-- Many files created, looked at and deleted: nothing is left of them, however the run ends.
local t = require "check"
local iolua = os.getenv("IOLUA")
local full = (os.getenv("FULL") or "") ~= ""
local slow = not iolua:find("/release/", 1, true)       -- a sanitizer looks at each

-- Memory is quick; a disk does where there is none.
local base = select(2, t.run("test -w /dev/shm")) == 0 and "/dev/shm" or "/var/tmp"
local dir = (t.run("mktemp -d " .. base .. "/files.XXXXXX")):gsub("\n", "")

local function script(count)
  return ([[%s -e 'assert(require("iolua").workload.bonnie { dir = "%s", files = { count = %d } })']])
    :format(iolua, dir, count)
end

local function left() return t.run("find " .. dir .. " -mindepth 1 | wc -l") end

-- In order of their names and at random: half of the files in each.
t.case(slow and "10 000 files come and go" or "100 000 files come and go", function()
  local out, status = t.run(script(full and 98 or slow and 5 or 49))
  t.equal(status, 0, out)
  t.equal(left(), "0\n")
end)

-- Started by a shell with job control, where background jobs heed SIGINT; the signal comes when
-- as many files are there as `moment` waits for.
local INTERRUPTED = [[
set -m
%s & p=$!
files() { find %s -type f 2>/dev/null | wc -l; }
until [ "$(files)" -gt 2000 ] || ! kill -0 $p 2>/dev/null; do :; done
%s
echo there were $(files)
kill -%s $p
wait $p
echo status $?]]

local MOMENTS = {
  ["while files are made"] = "",
  ["while files are deleted"] = [[
most=0; now=$(files)
until [ "$now" -lt "$most" ] || ! kill -0 $p 2>/dev/null; do
  [ "$now" -lt "$most" ] || most=$now
  now=$(files)
done]],
}

for moment, waiting in pairs(MOMENTS) do
  for signal, code in pairs { INT = 130, TERM = full and 143 or nil } do
    t.case(("SIG%s %s: all of them go"):format(signal, moment), function()
      local command = INTERRUPTED:format(script(full and 98 or 12), dir, waiting, signal)
      local path = os.tmpname()
      local f <close> = assert(io.open(path, "w"))
      f:write(command)
      f:close()
      local out = t.run("timeout 120 bash " .. path)
      os.remove(path)
      t.ok(tonumber(out:match("there were (%d+)")) > 0, out)
      t.contains(out, "status " .. code)
      t.equal(left(), "0\n")
    end)
  end
end

t.run("rm -rf " .. dir)
t.done()
