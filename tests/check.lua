--- The harness of the Lua tests: t.case names and counts, t.equal and friends check.
--
-- A test file is a list of t.case (and t.timed) calls and ends with t.done(), which prints the line
-- `N passed, N failed, N skipped` that tests/run.sh adds up. Runs under iolua and, for the
-- pure modules, under a stock lua5.4.
local check = {}

local passed, failed, skipped = 0, 0, 0
local SKIP = {}

local function show(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if math.type(value) == "float" then return ("%.17g"):format(value) end
  return tostring(value)
end

--- Two values are equal, integers and floats told apart only by `same`.
function check.equal(got, want, what)
  if got ~= want then
    error(("%s is %s, want %s"):format(what or "value", show(got), show(want)), 2)
  end
end

--- |got - want| <= tolerance.
function check.near(got, want, tolerance, what)
  if type(got) ~= "number" or not (math.abs(got - want) <= tolerance) then
    error(("%s is %s, want %s within %s"):format(what or "value", show(got), show(want),
      show(tolerance)), 2)
  end
end

function check.ok(value, what)
  if not value then error((what or "condition") .. " does not hold", 2) end
  return value
end

--- A string contains a plain text.
function check.contains(text, part)
  if type(text) ~= "string" or not text:find(part, 1, true) then
    error(("%s does not contain %s"):format(show(text), show(part)), 2)
  end
end

--- fn raises an error whose text contains `part`. Returns the text.
function check.raises(part, fn, ...)
  local ok, message = pcall(fn, ...)
  if ok then error("raised nothing, want an error with " .. show(part), 2) end
  message = tostring(message)
  if not message:find(part, 1, true) then
    error(("raised %s, want it to contain %s"):format(show(message), show(part)), 2)
  end
  return message
end

--- Leaves the running case: what it needs is not here.
function check.skip(reason)
  error(setmetatable({ reason = reason }, SKIP), 0)
end

--- Nested tables have the same keys and values.
function check.same(got, want, what)
  local function walk(a, b, path)
    if type(a) ~= "table" or type(b) ~= "table" then
      if a ~= b or math.type(a) ~= math.type(b) then
        error(("%s is %s, want %s"):format(path, show(a), show(b)), 4)
      end
      return
    end
    for key in pairs(b) do walk(a[key], b[key], path .. "." .. tostring(key)) end
    for key in pairs(a) do
      if b[key] == nil then error(("%s has %s"):format(path, show(key)), 4) end
    end
  end
  walk(got, want, what or "value")
end

local function report(name, err)
  if getmetatable(err) == SKIP then
    skipped = skipped + 1
    print(("skipped %s: %s"):format(name, err.reason))
  else
    failed = failed + 1
    print(("FAILED %s: %s"):format(name, tostring(err)))
  end
end

local function traced(err)
  if getmetatable(err) == SKIP then return err end
  return debug.traceback(tostring(err), 2)
end

--- Run one case. Its name is a sentence about behaviour.
function check.case(name, fn)
  collectgarbage()
  local ok, err = xpcall(fn, traced)
  collectgarbage()
  if ok then passed = passed + 1 else report(name, err) end
end

local ATTEMPTS = 5

--- A case whose right value is read off a clock, or is about who gets the processor when. What
--- else the machine does can disturb one attempt; a fault of ours would spoil every one. So it is
--- tried up to five times, and what was said before it came out right is printed.
function check.timed(name, fn)
  local ok, err
  for attempt = 1, ATTEMPTS do
    collectgarbage()
    ok, err = xpcall(fn, traced)
    collectgarbage()
    if ok or getmetatable(err) == SKIP then break end
    if attempt < ATTEMPTS then print(("disturbed %s: %s"):format(name, tostring(err))) end
  end
  if ok then passed = passed + 1 else report(name, err) end
end

--- Run a command of the shell; returns its output (stdout and stderr) and exit status
--- (128 + signal where one ended it).
function check.run(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>&1", "r"))
  local output = pipe:read("a")
  local _, how, code = pipe:close()
  return output, how == "signal" and 128 + code or code
end

--- The command that makes an ordinary user of root, one that nobody else is: locked memory is
--- counted by user, and given back late.
function check.as_user()
  local id = math.random(20000, 59999)
  return ("setpriv --reuid=%d --regid=%d --clear-groups"):format(id, id)
end

--- May an ordinary user read the tree, so that a test can become one?
function check.readable_to_others()
  local _, status = check.run(check.as_user() .. " test -r lua/iolua/init.lua -a -x ${IOLUA:-build/release/iolua}")
  return status == 0
end

function check.done()
  print(("%d passed, %d failed, %d skipped"):format(passed, failed, skipped))
  io.stdout:flush()
  if failed > 0 then os.exit(1) end
end

return check
