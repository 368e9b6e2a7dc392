-- The prompt, through a terminal of its own (tests/tools/pty.c) and through a pipe.
local t = require "check"

local iolua, build = os.getenv("IOLUA"), os.getenv("IOLUA_BUILD")
local folder = t.run("mktemp -d"):match("%S+")
local history = folder .. "/history"

-- Talks to a command on a terminal; output and status of the command.
local function talk(steps, command)
  local script = folder .. "/steps"
  local file = assert(io.open(script, "w"))
  file:write(table.concat(steps, "\n"), "\n")
  file:close()
  local output = t.run(("IOLUA_HISTORY=%s TERM=xterm %s/tests/pty %s <%s"):format(history, build,
    command or iolua, script))
  if output:find("expected and not seen", 1, true) then error(output, 2) end
  output = output:gsub("\r", "")
  return output, tonumber(output:match("status (%d+)\n$"))
end

-- One line typed at the prompt and what must come.
local function answers(name, line, want)
  t.case(name, function()
    local _, status = talk { "expect > ", "send " .. line .. "\\r", "expect " .. want,
      "expect > ", "leave ^D" }
    t.equal(status, 0)
  end)
end

answers("an expression is shown", "1 + 1", "\n2")
answers("=e shows e", "=6 * 7", "\n42")
answers("several results are shown", "1, nil, 'a'", '1\\x09nil\\x09"a"')
answers("a statement shows nothing but what it prints", "x = 5; print(x + 1)", "\n6")
answers("a table is shown with its keys sorted", "{ b = 1, a = { 2 } }", "{ a = { 2 }, b = 1 }")
answers("iolua is there", "iolua.units.bytes('4k')", "4096")
answers("a real syntax error is told at once", "x = = 3", "unexpected symbol near '='")
answers("an error has its traceback", "error('boom')", "boom")
answers("an error object is shown", "error { 7 }", "{ 7 }")
answers("a job runs", "iolua.job { rw = 'nop', number_ios = 100 }.read.ios", "\n100")
answers("a fiber runs", "iolua.spawn(function(a) iolua.sleep('1ms') return a end, 77):join()",
  "\n77")
answers("an error nobody joins is told", "iolua.spawn(error, 'lost') iolua.sleep('1ms')", "lost")
answers("a histogram is a picture",
  "(function() local h = iolua.hist() h:record(1000, 5) h:record(3000) return h end)()", "####")
answers("help gives an overview", "help()", "doctor() says what works here")
answers("help tells what a part is", "help 'units'", "Sizes and durations")
answers("help tells what a function does", "help(iolua.fs.list)", "What is in a folder")
answers("help finds functions in C", "help(iolua.spawn)", "Run a function in a fiber")
answers("help on a function in C", "help(iolua.hist)", "A histogram of latencies")
answers("help on a method in C", "help(iolua.buffer(1).fill)", "a function in C")
answers("an error of an expression names the line typed", "iolua.job { traget = 1 }",
  'iolua: stdin:1: job: unknown option "traget"; did you mean "target"')
answers("an expression with a comment behind", "'a' .. 'b' -- c", '\n"ab"')
answers("help lists the methods of a value", "help(iolua.buffer(1))", "string")
answers("a userdata is shown as what it is", "iolua.buffer(4096)", "buffer (4096 bytes)")
answers("an open file is shown with its path", "iolua.open('/dev/null')", "file (/dev/null)")
answers("a global is completed", "iol\\t.units.bytes('2k')", "\n2048")
answers("a keyword is completed", "for i = 1, 1 do print(i + 6) en\\t", "\n7")
answers("a name is completed", "print(iolua.uni\\t.bytes('1k'))", "\n1024")
answers("a method is completed", "b = iolua.buffer(3); print(b:si\\t())", "\n3")
answers("what is possible is listed", "pr = io.std\\t", "stderr")

t.case("a chunk may go over several lines, with the second prompt", function()
  local _, status = talk { "expect > ", "send for i = 1, 2 do\\r", "expect >> ",
    "send print('i', i)\\r", "expect >> ", "send end\\r", "expect i\\x092", "leave ^D" }
  t.equal(status, 0)
end)

t.case("the history is kept over sessions, a chunk of several lines whole", function()
  os.remove(history)
  talk { "expect > ", "send print('one')\\r", "expect \none", "expect > ", "send do\\r",
    "expect >> ", "send print('two', 3)\\r", "expect >> ", "send end\\r", "expect two\\x093",
    "expect > ", "leave ^D" }
  local _, status = talk { "expect > ", "send \\e[A", "wait 100", "send \\r", "expect two\\x093",
    "expect > ", "send \\e[A\\e[A", "wait 100", "send \\r", "expect \none", "expect > ",
    "leave ^D" }
  t.equal(status, 0)
end)

for what, text in pairs {
  ["a loop"] = "while true do end",
  ["a loop in a coroutine"] = "coroutine.wrap(function() while true do end end)()",
  ["a loop in a fiber"] = "iolua.spawn(function() while true do end end):join()",
  ["a wait"] = "iolua.sleep('1h')",
  ["a job"] = "iolua.job { rw = 'nop', runtime = '1h' }",
} do
  t.case(("^C stops %s and gives the prompt back"):format(what), function()
    local output, status = talk { "expect > ", "send print('go' .. 'ing') " .. text .. "\\r",
      "expect going", "wait 50", "send \\x03", "expect > ", "send 40 + 2\\r", "expect \n42", "leave ^D" }
    t.contains(output, "interrupted")
    t.equal(status, 0)
  end)
end

t.case("^C on a job gives its result in part, as a value", function()
  local output, status = talk { "expect > ",
    "send print('go' .. 'ing') r = iolua.job { rw = 'nop', runtime = '1h' }\\r",
    "expect going", "wait 200", "send \\x03", "expect what was measured until then is kept",
    "expect > ", "send print('ios', r.read.ios > 0, r.read.lat:count() == r.read.ios)\\r",
    "expect ios\\x09true\\x09true", "expect > ", "send r.interrupted, r.elapsed_ns < 60e9\\r",
    'expect "interrupted"\\x09true', "expect > ", "leave ^D" }
  t.ok(not output:find("traceback", 1, true))
  t.equal(status, 0)
end)

t.case("^C on a job that is an expression shows it in part", function()
  local _, status = talk { "expect > ",
    "send print('go' .. 'ing') or iolua.job { rw = 'nop', runtime = '1h', seed = 1 }\\r",
    "expect going", "wait 200", "send \\x03", 'expect interrupted = "interrupted"',
    "expect what was measured until then is kept", "expect > ",
    "send 40 + 2\\r", "expect \n42", "leave ^D" }
  t.equal(status, 0)
end)

t.case("^C on typed jobs in a loop stops at the first, and keeps those before it", function()
  local output, status = talk { "expect > ", "send list = {}\\r", "expect > ",
    "send for i = 1, 1e9 do list[i] = iolua.job { rw = 'nop', number_ios = 100 } "
      .. "if i == 3 then print('go' .. 'ing') end end\\r",
    "expect going", "wait 50", "send \\x03", "expect interrupted", "expect > ",
    "send print('n', #list >= 3, list[2].read.ios)\\r", "expect n\\x09true\\x09100", "leave ^D" }
  t.contains(output, "interrupted")
  t.equal(status, 0)
end)

t.case("^C on an experiment keeps its rows, and none that was not measured whole", function()
  local _, status = talk { "expect > ",
    "send function m() print('go' .. 'ing') return "
      .. "{ iops = iolua.job { rw = 'nop', runtime = '1h' }.read.iops } end\\r",
    "expect > ",
    "send e = iolua.experiment { name = 'x', factors = { n = { 1, 2 } }, quiet = true, "
      .. "measure = m }\\r",
    "expect going", "wait 100", "send \\x03", "expect interrupted", "expect > ",
    "send print('rows', #e.rows, e.interrupted)\\r", "expect rows\\x090\\x09interrupted",
    "leave ^D" }
  t.equal(status, 0)
end)

t.case("^C stops a line twice in one session", function()
  local _, status = talk { "expect > ", "send print('go' .. 'ing') while true do end\\r",
    "expect going", "send \\x03", "expect > ", "send print('sleep' .. 'ing') iolua.sleep('1h')\\r",
    "expect sleeping", "send \\x03", "expect > ",
    "send 40 + 2\\r", "expect \n42", "leave ^D" }
  t.equal(status, 0)
end)

t.case("^C again ends a line that swallows the first", function()
  local _, status = talk { "expect > ",
    "send while true do pcall(function() print('go' .. 'ing') while true do end end) end\\r",
    "expect going", "send \\x03", "expect going", "wait 150", "send \\x03" }
  t.equal(status, 130)
end)

t.case("^C at the prompt gives the typed line up", function()
  local _, status = talk { "expect > ", "send nonsense(", "wait 100", "send \\x03", "expect > ",
    "send 40 + 2\\r", "expect \n42", "leave ^D" }
  t.equal(status, 0)
end)

t.case("^C in an unfinished chunk begins anew, also after a line that ran", function()
  local _, status = talk { "expect > ", "send 3 + 4\\r", "expect \n7", "expect > ",
    "send do\\r", "expect >> ", "send \\x03", "expect > ",
    "send 40 + 2\\r", "expect \n42", "leave ^D" }
  t.equal(status, 0)
end)

t.case("SIGTERM at the prompt ends by the signal", function()
  local _, status = talk { "expect > ", "signal 15" }
  t.equal(status, 143)
end)

t.case("os.exit leaves with its status", function()
  local _, status = talk { "expect > ", "send os.exit(5)\\r" }
  t.equal(status, 5)
end)

t.case("^D runs the closers of fibers that still wait", function()
  local output, status = talk { "expect > ",
    "send iolua.spawn(function() local x <close> = setmetatable({}, " ..
      "{ __close = function() print('was closed') end }) iolua.sleep('1h') end) " ..
      "iolua.sleep('1ms')\\r",
    "expect > ", "leave ^D" }
  t.contains(output, "\nwas closed")
  t.equal(status, 0)
end)

t.case("doctor() reports and gives no value", function()
  local output, status = talk { "expect > ", "send doctor()\\r", "expect io_uring", "expect > ",
    "send 40 + 2\\r", "expect \n42", "leave ^D" }
  t.ok(not output:find("unknown argument", 1, true))
  t.equal(status, 0)
end)

t.case("^D puts back what was set at the prompt", function()
  local fake = require "fake"
  local number, sys = fake.device_of(folder), "/sys/devices/virtual/block/x"
  local root = fake.tree { files = { [sys .. "/dev"] = number,
    [sys .. "/queue/read_ahead_kb"] = "128" },
    links = { ["/sys/dev/block/" .. number] = "ROOT" .. sys } }
  local attribute = root .. sys .. "/queue/read_ahead_kb"
  local output, status = talk({ "expect > ",
    ("send s = iolua.settings s.root = '%s'\\r"):format(root), "expect > ",
    ("send s.set('%s', { read_ahead_kb = 8 }).read_ahead_kb\\r"):format(folder), "expect \n8",
    "expect > ", ("send io.open('%s'):read('a')\\r"):format(attribute), 'expect \n"8',
    "expect > ", "leave ^D" },
    ("env IOLUA_STATE=%s/state %s"):format(root, iolua))
  local after, left = fake.read(attribute), t.run("ls " .. root .. "/state")
  fake.remove(root)
  t.equal(status, 0, output)
  t.equal(after, "128")
  t.equal(left, "")
end)

t.case("^D typed while a line runs leaves after it", function()
  local output, status = talk { "expect > ",
    "send print('go' .. 'ing') iolua.sleep('200ms') print('done', 1)\\r", "expect going",
    "send \\x04" }
  t.contains(output, "done\t1")
  t.equal(status, 0)
end)

t.case("fibers go on while a line runs", function()
  local _, status = talk { "expect > ",
    "send n = 0\\r", "expect > ",
    "send f = iolua.spawn(function() while true do n = n + 1 iolua.sleep('1ms') end end)\\r",
    "expect > ", "send n\\r", "expect \n0", "expect > ",
    "send iolua.sleep('20ms') print(n > 5)\\r", "expect \ntrue",
    "expect > ", "send f:cancel() f:join()\\r", "expect > ", "leave ^D" }
  t.equal(status, 0)
end)

t.case("a pasted megabyte works", function()
  local _, status = talk { "expect > ", "send s = [[\\r", "expect >> ",
    "many 2500 " .. ("x"):rep(400) .. "\r", "send ]]\\r", "expect > ",
    "send #s\\r", "expect \n1002500", "leave ^D" }
  t.equal(status, 0)
end)

t.case("-i goes to the prompt after the script, also when it failed", function()
  local script = folder .. "/s.lua"
  local file = io.open(script, "w")
  file:write("y = 12 error('failed here')")
  file:close()
  local output, status = talk({ "expect failed here", "expect > ", "send y\\r", "expect \n12",
    "expect > ", "leave ^D" }, iolua .. " -i " .. script)
  t.contains(output, "failed here")
  t.equal(status, 0)
end)

t.case("there is no prompt when standard input is no terminal", function()
  local output, status = t.run(("printf '1 + 1\\nfor i = 1, 2 do\\nprint(i)\\nend\\n' | %s -i")
    :format(iolua))
  t.equal(output:gsub("^[^\n]*\n", "", 1), "2\n1\n2\n")
  t.equal(status, 0)
end)

t.run("rm -rf " .. folder)
t.done()
