-- make install and uninstall: one list feeds both, and what is installed runs by itself.
local t = require "check"

local function folder()
  return (t.run("mktemp -d"):gsub("\n", ""))
end

t.case("an installed iolua finds its modules and scenarios, and uninstall leaves nothing", function()
  local root = folder()
  local make = ("make -s %%s DESTDIR=%s PREFIX=/usr BUILD=%s"):format(root,
    os.getenv("IOLUA_BUILD"):match("[^/]*$"))
  local output, status = t.run(make:format("install"))
  t.equal(output, "")
  t.equal(status, 0)
  output, status = t.run(("cd / && env -u LUA_PATH -u LUA_CPATH %s/usr/bin/iolua -e "):format(root)
    .. [['print(require("iolua").units.bytes("4k"), require("iolua").job { rw = "nop", number_ios = 9 }.read.ios)']])
  t.equal(output, "4096\t9\n")
  t.equal(status, 0)
  t.equal(t.run(make:format("uninstall")), "")
  t.equal(t.run(("find %s ! -type d"):format(root)), "")
  t.equal(t.run(("find %s -name iolua"):format(root)), "")
  os.execute("rm -rf " .. root)
end)

t.done()
