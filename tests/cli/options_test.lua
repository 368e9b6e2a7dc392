-- A script's options through the runner: status, streams, and closers that still run.
local t = require "check"

local SCRIPT = os.tmpname()

local function script(text)
  local file = assert(io.open(SCRIPT, "w"))
  file:write(text)
  file:close()
end

local function run(arguments)
  return t.run(("%s %s %s"):format(os.getenv("IOLUA"), SCRIPT, arguments))
end

script [[
  local iolua = require "iolua"
  local _ <close> = setmetatable({}, { __close = function() print("closed") end })
  local opt = iolua.options {
    "Does it matter?",
    bs = { type = "size", default = "4k", help = "size of an operation" },
    experiment = true,
  }
  print(opt.bs, opt.plan, opt.json)
]]

t.case("options of the command line reach the script", function()
  local output, status = run("--bs 64k --plan --json=-")
  t.equal(output, "65536\ttrue\t-\nclosed\n")
  t.equal(status, 0)
end)

t.case("a mistake is one line on stderr and status 2, and closers run", function()
  local output, status = run("--bss 64k 2>/dev/null")
  t.equal(output, "closed\n")
  t.equal(status, 2)
  output = run("--bss 64k 2>&1 >/dev/null")
  t.contains(output, 'unknown option --bss; did you mean "--bs"?')
  t.equal(select(2, output:gsub("\n", "")), 1)
  output, status = run("--bs 4kk 2>&1 >/dev/null")
  t.contains(output, '--bs: "4kk" is not a size')
  t.equal(status, 2)
end)

t.case("help goes to stdout with status 0", function()
  local output, status = run("--help 2>/dev/null")
  t.equal(status, 0)
  for _, part in ipairs { "Does it matter?", "--bs <size>", "(default: 4k)", "--resume" } do
    t.contains(output, part)
  end
  t.contains(output, "closed\n")
end)

os.remove(SCRIPT)
t.done()
