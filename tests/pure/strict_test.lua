-- Undeclared globals raise where they are used.
local t = require "check"
local strict = require "iolua.strict"

local function chunk(code, name)
  local env = setmetatable({}, nil)
  env.iolua, env.print, env.rawset, env.pairs = {}, print, rawset, pairs
  strict.install(env)
  return assert(load(code, name or "@script.lua", "t", env)), env
end

t.case("reading an unknown global names the nearest known one", function()
  local message = t.raises('global "iolau" is not declared; did you mean "iolua"?',
    (chunk("\nreturn iolau.job"))) -- the chunk alone, without its environment
  t.contains(message, "script.lua:2:")
end)

t.case("a name like no other is refused without a guess", function()
  local message = t.raises('global "zzzzzzzz" is not declared', (chunk("return zzzzzzzz")))
  t.equal(message:find("known"), nil)
end)

t.case("assigning a new global raises, in functions too", function()
  t.raises('global "count" is not declared; write local count', (chunk("count = 1")))
  t.raises("script.lua:1:", (chunk("local function f() total = 1 end f()")))
end)

t.case("known globals may be read and replaced", function()
  local run, env = chunk("print = iolua; return print")
  t.equal(run(), env.iolua)
end)

t.case("a declared name may be nil and assigned", function()
  local run, env = chunk("local before = shared; shared = 1; return before, shared")
  strict.declare(env, "shared")
  local before, after = run()
  t.equal(before, nil)
  t.equal(after, 1)
end)

t.case("what the command line assigns is known to the script", function()
  local run, env = chunk("N = 5", "=(command line)")
  run()
  t.equal(assert(load("return N", "@script.lua", "t", env))(), 5)
end)

t.case("arg may be missing", function()
  t.equal((chunk("return arg"))(), nil)
end)

t.case("rawset and C code may make globals", function()
  local run, env = chunk("rawset(_ENV, 'x', 1); return x")
  t.equal(run(), 1)
  t.equal(env.x, 1)
end)

t.case("installing twice and removing leave the table as it was", function()
  local _, env = chunk("")
  strict.install(env)
  strict.remove(env)
  t.equal(getmetatable(env), nil)
  t.equal(env.anything, nil)
  t.raises("already has a metatable", strict.install, setmetatable({}, {}))
end)

t.done()
