-- The fibers' tests once more where io_uring is forbidden or absent, and from a stock lua5.4.
local t = require "check"

local iolua, build = os.getenv("IOLUA"), os.getenv("IOLUA_BUILD")

local function same_under(what, command, script)
  t.case(("%s: %s"):format(what, script), function()
    local output, code = t.run(("%s tests/lua/%s.lua"):format(command, script))
    if code == 77 then t.skip(output) end
    t.equal(code, 0, output)
    t.contains(output, " passed, 0 failed")
  end)
end

for errno, what in pairs { [1] = "io_uring forbidden", [38] = "io_uring absent" } do
  local command = ("%s/tests/no_uring %d %s"):format(build, errno, iolua)
  for _, script in ipairs { "io_test", "fiber_test", "fs_test", "prepared_test" } do
    local file = io.open("tests/lua/" .. script .. ".lua")
    if file then
      file:close()
      same_under(what, command, script)
    end
  end
  t.case(what .. ": the engine says so and why", function()
    local output = t.run(command ..
      [[ -e 'iolua.open("/dev/zero"):read(iolua.buffer(1), 0) print(iolua.fiber.engine())']])
    t.contains(output, "threads\tio_uring: ")
  end)
end

t.done()
