-- The scenarios whose load is the script itself: they run, and are as short as promised.
local t = require "check"

local iolua = os.getenv("IOLUA")

local function lines(path)
  local n = 0
  for _ in io.lines(path) do n = n + 1 end
  return n
end

for name, want in pairs {
  ["hello --reads=500"] = "^%d+ reads a second, hist: 500 values",
  ["hello --reads=100 --target=/dev/zero"] = "^%d+ reads a second, hist: 100 values",
  ["pointer_chase --reads=80"] = "^ 1 chains: %d+ reads a second\n 2 chains",
  ["log_writer"] = "^ 1 writers: %d+ commits, %d+ fsyncs a second\n 4 writers",
} do
  t.case(name .. " runs", function()
    local script, arguments = name:match("^(%S+)(.*)$")
    local output, code = t.run(("%s scenarios/%s.lua%s"):format(iolua, script, arguments))
    t.ok(output:find(want), output)
    t.equal(code, 0)
    t.ok(lines("scenarios/" .. script .. ".lua") < 30, "under 30 lines")
  end)
end

t.case("copy copies, and refuses what exists", function()
  local to = os.tmpname()
  os.remove(to)
  local command = ("%s scenarios/copy.lua --bs=64k --from=%s --to=%s"):format(iolua, iolua, to)
  local output, code = t.run(command)
  t.ok(output:find("^%d+ bytes, "), output)
  t.equal(code, 0)
  local _, same = t.run(("cmp %s %s"):format(iolua, to))
  t.equal(same, 0)
  _, code = t.run(command)
  t.equal(code, 1)
  os.remove(to)
  t.ok(lines("scenarios/copy.lua") < 30, "under 30 lines")
end)

t.done()
