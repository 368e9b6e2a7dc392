-- The tree keeps the architecture of docs: layers, owners, levels, lengths.
local t = require "check"
local arch = require "arch"

local function read(path)
  local file = assert(io.open(path, "r"))
  local text = file:read("a")
  file:close()
  return text
end

local function files(where)
  local found = {}
  local list = t.run(("find %s -name '*.[ch]' -o -name '*.lua' | sort"):format(where))
  for path in list:gmatch("[^\n]+") do found[#found + 1] = path end
  return found
end

local function violations(where)
  local found = {}
  for _, path in ipairs(files(where)) do
    local some = arch.check(path, read(path))
    table.move(some, 1, #some, #found + 1, found)
  end
  return found
end

local function clean(where)
  local found = violations(where)
  if #found > 0 then error(table.concat(found, "\n"), 0) end
end

t.case("sources keep to their layers, owners and lengths", function()
  t.ok(#files("src") > 20)
  clean("src")
end)

t.case("Lua modules keep to their levels and lengths", function()
  t.ok(#files("lua") > 20)
  clean("lua")
end)

-- The rules find what they are for.
local function finds(part, rule, path, text)
  local found = arch[rule](path, text)
  t.equal(#found, 1, "violations")
  t.contains(found[1], part)
end

local function passes(rule, path, text) t.same(arch[rule](path, text), {}) end

t.case("an include across layers is found", function()
  finds("core/x.c includes bind/bind.h", "includes", "src/core/x.c", '#include "bind/bind.h"')
  finds("core/x.c includes <lua.h>", "includes", "src/core/x.c",
    "#include <stdio.h>\n#include <lua.h>")
  finds("core/x.h includes <lauxlib.h>", "includes", "src/core/x.h", "# include <lauxlib.h>\n")
  finds("bind/lx.c includes args.h", "includes", "src/bind/lx.c", '#include "args.h"')
  finds("src/main.c includes core/ring.h", "includes", "src/main.c", '#include "core/ring.h"')
  passes("includes", "src/bind/lx.c",
    '#include <lua.h>\n#include "core/x.h"\n#include "bind/bind.h"')
  passes("includes", "src/main.c",
    '#include <lualib.h>\n#include "bind/open.h"\n#include "args.h"')
end)

t.case("a library used by others than its owner is found", function()
  for header, owner in pairs { ["liburing.h"] = "src/core/ring.h", ["hwloc.h"] = "src/core/topo.c",
    ["libdevmapper.h"] = "src/core/dm.c", ["blkid/blkid.h"] = "src/core/blk.c",
    ["xxhash.h"] = "src/core/fill.c", ["editline/readline.h"] = "src/repl.c" } do
    local line = ("#include <%s>"):format(header)
    finds("belongs to others", "includes", "src/core/job.c", line)
    passes("includes", owner, line)
  end
end)

t.case("printing and exiting in the core are found, in comments and strings not", function()
  finds("calls printf", "quiet", "src/core/x.c", 'void f(void)\n{\n    printf("x");\n}\n')
  finds("calls exit", "quiet", "src/core/x.c", "static void f(void) { exit (1); }")
  finds("uses stderr", "quiet", "src/core/x.c", 'fputs("x", stderr);')
  passes("quiet", "src/core/x.c", '/* printf("x") */ snprintf(b, 3, "exit(1)"); // abort()\n')
  passes("quiet", "src/core/x.c", "queue_exit(r); h->exit_code = 1;")
  passes("quiet", "src/main.c", "exit(1);")
end)

t.case("a require of a higher level is found", function()
  finds("level 1 is above its own, 0", "requires", "lua/iolua/stats.lua",
    'local j = require "iolua.job"')
  finds("is pure, and core is not", "requires", "lua/iolua/units.lua",
    'require("iolua.core").hist')
  finds("level 2 is above its own, 1", "requires", "lua/iolua/job.lua",
    'require "iolua.experiment"')
  finds("level 3 is above its own, 2", "requires", "lua/iolua/fio.lua",
    'require "iolua.options"')
  finds("level 2 is above its own, 0", "requires", "lua/iolua/design.lua",
    'pcall(require, "iolua.report.csv")')
  finds("not its own", "requires", "lua/iolua/store.lua", 'require "dkjson"')
  finds("the whole", "requires", "lua/iolua/job.lua", 'require "iolua"')
  passes("requires", "lua/iolua/report/json.lua", 'require "dkjson"')
  passes("requires", "lua/iolua/job.lua",
    'require "iolua.core" require "iolua.schema" -- require "iolua.x.y"')
  passes("requires", "scenarios/x.lua", 'require "iolua"')
end)

t.case("long files, functions and lines are found", function()
  finds("has 451 lines", "lengths", "lua/iolua/x.lua", ("x = 1\n"):rep(451))
  passes("lengths", "lua/iolua/x.lua", ("x = 1\n"):rep(450))
  finds("function of 61 lines", "lengths", "lua/iolua/x.lua",
    "local function f()\n" .. ("  x = 1\n"):rep(59) .. "end\n")
  passes("lengths", "lua/iolua/x.lua", "function f()\n" .. ("  x = 1\n"):rep(58) .. "end\n")
  finds("x.c:1 has a function of 62 lines", "lengths", "src/core/x.c",
    "int f(void)\n{\n" .. ("    x;\n"):rep(59) .. "}\n")
  passes("lengths", "src/core/x.c", "static const int t[] = {\n" .. ("    1,\n"):rep(99) .. "};\n")
  finds("x.c:1 is wider than 99", "lengths", "src/core/x.c", ("x"):rep(100))
  passes("lengths", "src/core/x.c", ("é"):rep(99))
end)

t.done()
