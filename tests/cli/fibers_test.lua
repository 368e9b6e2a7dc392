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

-- A scratch file in place of the disk that the page names, and fewer rounds.
t.case("the loads of docs/fibers.md run as they stand there", function()
  local page, ran = assert(io.open("docs/fibers.md")), 0
  for block in page:read("a"):gmatch("```lua\n(.-)```") do
    local text, n = block:gsub('iolua.open%b()', 'iolua.scratch.file { size = "1m" }')
    if n > 0 and text:find("iolua.spawn(", 1, true) then
      local path = os.tmpname()
      local file = assert(io.open(path, "w"))
      text = text:gsub("local iolua = [^\n]*", ""):gsub("n = 1, 1000 do", "n = 1, 2 do")
      file:write('local iolua = require "iolua"\n', text)
      file:close()
      local output, code = t.run(("%s %s"):format(iolua, path))
      os.remove(path)
      t.equal(output, "")
      t.equal(code, 0)
      ran = ran + 1
    end
  end
  page:close()
  t.ok(ran >= 2, "there are such blocks")
end)

t.done()
