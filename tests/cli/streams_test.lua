-- The standard streams: closed, full, or left by their reader.
local t = require "check"

local iolua = os.getenv("IOLUA")
local folder = t.run("mktemp -d"):match("%S+")
local lost = "iolua: standard output: "

-- Runs iolua -e CHUNK with a shell's redirections.
local function run(chunk, redirections)
  local path = folder .. "/script.lua"
  local file = assert(io.open(path, "w"))
  file:write(chunk)
  file:close()
  return t.run(("%s %s %s"):format(iolua, path, redirections or ""))
end

t.case("no target gets the number of a closed stream, nor what is printed", function()
  local chunk = ([[
    local iolua = require "iolua"
    local f <close> = assert(iolua.open("%s/target", { write = true, create = true }))
    local b <close> = iolua.buffer(4096)
    assert(f:write(b, 0) == 4096)
    print("hello")
    io.stdout:flush()
    io.stderr:write("message")
    os.exit(f:fd() > 2 and 0 or 9)]]):format(folder)
  local _, code = run(chunk, "<&- >&- 2>&-")
  t.equal(code, 1, "status: what was printed is lost")
  local file <close> = assert(io.open(folder .. "/target"))
  t.equal(file:read("a"):find("hello", 1, true), nil, "output in the target")
  file:seek("set", 0)
  t.equal(file:read("a"):find("message", 1, true), nil, "messages in the target")
end)

t.case("output that cannot be written fails the run", function()
  if not io.open("/dev/full") then t.skip("no /dev/full") end
  local output, code = run("print(1)", ">/dev/full")
  t.contains(output, lost)
  t.equal(code, 1)
  for _, option in ipairs { "--help", "-v", "--doctor" } do
    output, code = t.run(("%s %s >/dev/full"):format(iolua, option))
    t.contains(output, lost)
    t.equal(code, 1, option)
  end
end)

t.case("nothing printed to a closed stream is no failure", function()
  local output, code = run("local x = 1", ">&-")
  t.equal(output, "")
  t.equal(code, 0)
end)

t.case("reading a closed stdin fails as such", function()
  local output, code = run("print(io.read())", "<&-")
  t.equal(output, "nil\tBad file descriptor\t9\n")
  t.equal(code, 0)
end)

t.case("a reader that left ends the run as a signal does: closers run, whatever they print",
  function()
    local chunk = ([[
      local x <close> = setmetatable({}, { __close = function()
        for i = 1, 1e5 do print(i) end
        io.open("%s/closed", "w"):close()
      end })
      while true do print("line") end]]):format(folder)
    local status = folder .. "/status"
    local output = run(chunk, ("; echo $? >%s; } | { head -1"):format(status))
    t.equal(output, "line\n")
    t.ok(io.open(folder .. "/closed"), "the closer's file")
    t.equal(io.open(status):read("n"), 141, "status")
  end)

t.case("a file beyond its limit is an error of the write", function()
  local output, code = t.run(([[ulimit -f 1
    %s -e 'local f = assert(iolua.open("%s/large", { write = true, create = true }))
           print(f:truncate(1 << 20))' 2>&1 | cat]]):format(iolua, folder))
  t.equal(output, ("nil\ttruncate %s/large: File too large\t27\n"):format(folder))
  t.equal(code, 0)
end)

t.run("rm -rf " .. folder)
t.done()
