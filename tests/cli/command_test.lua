-- iolua help and iolua new.
local t = require "check"

local IOLUA = os.getenv("IOLUA")
local folder = t.run("mktemp -d"):match("%S+")

t.case("help lists commands and parts; help NAME says what it is", function()
  local output, status = t.run(IOLUA .. " help")
  t.equal(status, 0)
  t.contains(output, "iolua report DIR")
  t.contains(output, " job ")
  output, status = t.run(IOLUA .. " help job")
  t.equal(status, 0)
  t.ok(#output > 20)
  output, status = t.run(IOLUA .. " help jub")
  t.equal(status, 2)
  t.contains(output, 'did you mean "job"?')
end)

t.case("new writes a scenario that runs, and never overwrites one", function()
  local path = folder .. "/mine.lua"
  local output, status = t.run(("%s new %s"):format(IOLUA, path))
  t.equal(status, 0, output)
  output, status = t.run(("truncate -s 1m %s/data && %s %s --target %s/data --runtime 20ms 2>/dev/null")
    :format(folder, IOLUA, path, folder))
  t.equal(status, 0, output)
  t.contains(output, "p99_us against depth=1")
  output, status = t.run(("%s new %s"):format(IOLUA, path))
  t.equal(status, 1)
  t.contains(output, "exists already")
end)

os.execute("rm -rf " .. folder)
t.done()
