-- The command line of a script that declares options of every kind: the text's lines are its
-- words. Values of the declared types, or the table that ends a script with status 2 and a
-- sentence.
local options = require "iolua.options"

local function declared()
  return { "What does it do?",
    target = { type = "path", help = "file" }, runtime = { type = "duration", default = "10s" },
    bs = { type = "size", list = true, default = { 4096 } }, quick = { type = "boolean" },
    depth = { type = "integer", min = 1, max = 128, list = true },
    share = { type = "number", min = 0, max = 100 }, cpus = { type = "cpuset" },
    mode = { choices = { "read", "write", 3 } }, name = { type = "string" }, experiment = true,
  }
end

return function(text)
  local args = { [0] = "scenario.lua" }
  for word in (text .. "\n"):gmatch("([^\n]*)\n") do
    if word == "--help" or word == "-h" then return end     -- prints
    args[#args + 1] = word
  end
  local ok, values = pcall(options, declared(), args)
  if ok then
    if type(values.runtime) ~= "number" or type(values.bs) ~= "table" then error({}) end
  elseif type(values) ~= "table" then
    error(values, 0)
  elseif values.iolua_exit ~= 2 and values.iolua_exit ~= 0 or type(values.message) ~= "string"
    and values.iolua_exit == 2 then
    error({})
  end
end
