--- Options that a script declares, read from its command line.
--
--   local opt = iolua.options {
--     "How do latency and throughput grow with depth?",
--     target  = { type = "path", required = true, help = "file or block device to read" },
--     runtime = { type = "duration", default = "10s", help = "time measured per depth" },
--     experiment = true,          -- adds --plan, --json, --csv, --html, --quiet,
--                                 -- --save and --resume
--   }
--
-- Entries are schema's. Both --name value and --name=value, _ and - alike; booleans are
-- flags with a --no- form; lists are separated by commas. A mistake, and --help, end the
-- script by iolua.leave: with 2 for a mistake.
local leave = require "iolua.leave"
local nearest = require "iolua.nearest"
local schema = require "iolua.schema"

local STANDARD = {
  plan = { type = "boolean", default = false,
           help = "print the runs, what each sets and all that would be written; do nothing" },
  json = { type = "path", help = "write the result as JSON; - is standard output" },
  csv = { type = "path", help = "write the rows as CSV; - is standard output" },
  html = { type = "path", help = "write one page with verdict, picture, table and machine" },
  quiet = { type = "boolean", default = false, help = "no progress and no table" },
  save = { type = "path", help = "directory to keep the result in, written run by run" },
  resume = { type = "path", help = "go on in the directory of a run that was stopped" },
}

local PLACEHOLDER = {
  size = "<size>", duration = "<time>", integer = "<n>", number = "<x>", path = "<path>",
  cpuset = "<cpus>", choice = "<word>",
}

-- The module. `experiment`: what the last declaration with experiment = true gave, so that an
-- experiment can refuse to go on without it.
local asked = {}

-- Where the parser keeps what no option can be named like.
local HELP, REST, NO = " help", " rest", " no "

local function script_name(args)
  return args[0] and args[0]:match("[^/]+$") or "iolua"
end

local function usage(args, message)
  leave(2, ("%s: %s (--help shows the options)"):format(script_name(args), message))
end

-- The entries of a declaration, with the standard ones where it asks for them.
local function entries_of(declared, level)
  local entries = {}
  for name, entry in pairs(declared) do
    if name == "experiment" and entry == true then
      for standard, value in pairs(STANDARD) do
        entries[standard] = entries[standard] or value
      end
    elseif type(name) == "string" and type(entry) == "table" then
      local fine, why = schema.entry(entry)
      if fine and (name == "help" or not name:find("^%a[%w_]*$")) then
        fine, why = nil, "no name for an option: letters, digits and _, and not help"
      end
      if not fine then error(("option %s: %s"):format(name, why), level + 1) end
      entries[name] = entry
    elseif name ~= 1 or type(entry) ~= "string" then
      error(("option %s: its declaration must be a table, not %s"):format(tostring(name),
        tostring(entry)), level + 1)
    end
  end
  return entries
end

local function is_flag(entry) return entry.type == "boolean" and not entry.list end

local function shown_default(value)
  if type(value) ~= "table" then return tostring(value) end
  local items = {}
  for i, item in ipairs(value) do items[i] = tostring(item) end
  return table.concat(items, ",")
end

local function help_text(entry)
  local parts = { entry.help or "" }
  if entry.choices then
    parts[1] = parts[1] ~= "" and parts[1] .. ":" or ""
    parts[#parts + 1] = "one of " .. shown_default(entry.choices)
  end
  if entry.required then parts[#parts + 1] = "(required)" end
  if entry.default == true then
    parts[#parts + 1] = "(default; --no-... for not)"
  elseif entry.default ~= nil and entry.default ~= false then
    parts[#parts + 1] = ("(default: %s)"):format(shown_default(entry.default))
  end
  return (table.concat(parts, " "):gsub("^ ", ""))
end

-- Both spellings of an option: "--ramp-time --ramp_time".
local function spellings(name)
  local dashed = name:gsub("_", "-")
  return dashed == name and "--" .. name or ("--%s --%s"):format(dashed, name)
end

local function add(parser, name, entry)
  if is_flag(entry) then
    parser:flag(spellings(name)):target(name):description(help_text(entry))
    parser:flag(spellings("no_" .. name)):target(NO .. name):hidden(true)
    return
  end
  local placeholder = PLACEHOLDER[entry.type] or "<text>"
  if entry.list then placeholder = placeholder:gsub(">$", ",...>") end
  parser:option(spellings(name)):target(name):argname(placeholder)
    :description(help_text(entry))
end

local function parser_of(args, entries, description)
  local found, argparse = pcall(require, "argparse")
  if not found then
    error("options need lua-argparse: apt-get install lua-argparse", 0)
  end
  local parser = argparse(script_name(args), description):add_help(false)
  parser:flag("-h --help"):target(HELP):description("show this and exit")
  parser:argument("rest"):target(REST):args("*"):hidden(true)
  for _, name in ipairs(nearest.keys(entries)) do add(parser, name, entries[name]) end
  return parser
end

-- What a text stands for before the schema checks it.
local function from_text(entry, text)
  for _, choice in ipairs(entry.choices or {}) do
    if tostring(choice) == text then return choice end
  end
  for kind in (entry.type or "any"):gmatch("[^|]+") do
    if kind == "integer" or kind == "number" then
      local number = text:find("^%S+$") and tonumber(text)
      if number then return number end
    elseif kind == "boolean" then
      local known = { ["true"] = true, yes = true, ["false"] = false, no = false }
      if known[text] ~= nil then return known[text] end
    end
  end
  return text
end

local function items_of(entry, text)
  local items = {}
  for item in (text .. ","):gmatch("([^,]*),") do items[#items + 1] = from_text(entry, item) end
  return items
end

-- The given option as the schema's converted value; nil where it was not given.
local function given(args, name, entry, parsed)
  local text = parsed[name]
  if is_flag(entry) then
    if text and parsed[NO .. name] then
      usage(args, ("--%s and --no-%s contradict each other"):format(name, name))
    end
    if parsed[NO .. name] then return false end
    return text and true or nil
  end
  if text == nil then return nil end
  local raw = entry.list and items_of(entry, text) or from_text(entry, text)
  local value, message = schema.value(entry, raw)
  if value == nil then usage(args, ("--%s: %s"):format(name:gsub("_", "-"), message)) end
  return value
end

-- The long options known, for the hint about an unknown one.
local function known_options(entries)
  local names = { "--help" }
  for name, entry in pairs(entries) do
    names[#names + 1] = "--" .. name:gsub("_", "-")
    if is_flag(entry) then names[#names + 1] = "--no-" .. name:gsub("_", "-") end
  end
  table.sort(names)
  return names
end

local function complain(args, entries, message)
  local stray = message:match("^unknown option '(.-)'")
  if stray then
    usage(args, ("unknown option %s%s"):format(stray,
      nearest.hint(stray, known_options(entries))))
  end
  usage(args, (message:gsub("\n.*", "")))
end

local function parse(args, entries, description)
  local parser = parser_of(args, entries, description)
  local ok, parsed = parser:pparse(args)
  if not ok then complain(args, entries, parsed) end
  if parsed[HELP] then
    io.stdout:write(parser:get_help(), "\n")
    leave(0)
  end
  if parsed[REST][1] then
    usage(args, ("unexpected argument %q; options begin with --"):format(parsed[REST][1]))
  end
  return parsed
end

--- Declare the options of a script and read them from its command line.
---@param declared table  name -> schema entry; [1] the script's question; experiment = true
---@param args? string[]  default: the global `arg`
---@return table values   defaults filled in, sizes in bytes, durations in ns
local function options(declared, args)
  if type(declared) ~= "table" then
    error(("options: a table name -> declaration is needed, not %s"):format(type(declared)), 3)
  end
  args = args or rawget(_G, "arg") or {}
  local entries = entries_of(declared, 3)
  local parsed = parse(args, entries, declared[1])
  local values = {}
  for _, name in ipairs(nearest.keys(entries)) do
    local entry = entries[name]
    local value = given(args, name, entry, parsed)
    if value == nil and entry.default ~= nil then
      local message
      value, message = schema.value(entry, entry.default)
      if message then error(("option %s: its default: %s"):format(name, message), 3) end
    end
    if value == nil and entry.required then
      usage(args, ("--%s is required%s"):format(name:gsub("_", "-"),
        entry.help and ": " .. entry.help or ""))
    end
    values[name] = value
  end
  if declared.experiment == true then asked.experiment = values end
  return values
end

--- How an experiment's script tells its reader: say(format, ...) prints a line, but nothing with
--- --quiet, or where the result itself goes to standard output.
---@param values table  what a declaration with experiment = true gave
---@return fun(text: string, ...)
function asked.say(values)
  local silent = values.quiet or values.json == "-" or values.csv == "-" or values.html == "-"
  return function(text, ...)
    if not silent then io.stdout:write(text:format(...), "\n") end
  end
end

return setmetatable(asked, { __call = function(_, ...) return options(...) end })
