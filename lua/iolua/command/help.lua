--- iolua help [NAME]: what commands and parts there are, or what one of them is.
local arguments = require "iolua.command.arguments"
local iolua = require "iolua"
local nearest = require "iolua.nearest"

local COMMANDS = {
  { "report DIR", "a saved result in any form (--format)" },
  { "compare DIR DIR...", "saved results against each other, and their environments" },
  { "fio FILE", "a fio job file, run natively or converted to Lua (--convert)" },
  { "new FILE", "a scenario of your own to start from" },
  { "help [NAME]", "this, or what iolua.NAME is" },
}

local function parts()
  local names = {}
  for name in pairs(getmetatable(iolua).__parts) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function overview()
  print("commands:")
  for _, c in ipairs(COMMANDS) do print(("  iolua %-20s %s"):format(c[1], c[2])) end
  print("\nin scripts and at the prompt, iolua.NAME:\n  " .. table.concat(parts(), " ")
    .. "\n\n`iolua help NAME` says more; so does `help(iolua.NAME)` at the prompt.")
end

return function(name, more)
  if more then arguments.usage("help", "one name at a time, not also " .. more) end
  if not name then return overview() end
  name = name:gsub("^iolua%.", "")
  if not getmetatable(iolua).__parts[name] then
    arguments.usage("help", ("there is no iolua.%s%s"):format(name, nearest.hint(name, parts())))
  end
  print(require("iolua.repl").help(iolua[name]))
end
