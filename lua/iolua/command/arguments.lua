--- Arguments of commands: folders first or last, options between; how a command ends.
local leave = require "iolua.leave"

local arguments = {}

--- End with status 2: the command line is wrong.
function arguments.usage(command, message)
  leave(2, ("%s: %s"):format(command, tostring(message):gsub("^[^:]+:%d+: ", "")))
end

--- End with status 1.
function arguments.fail(command, message) leave(1, ("%s: %s"):format(command, message)) end

--- Words that are no options, and the options as an argument list of their own.
---@param name string  of the command, for its help
---@return string[] words
---@return string[] options
function arguments.split(name, ...)
  local given, words, rest, i = { ... }, {}, { [0] = name }, 1
  while given[i] do
    local word = given[i]
    if word:sub(1, 1) ~= "-" then
      words[#words + 1] = word
    else
      rest[#rest + 1] = word
      -- Every option of a command takes a value.
      if not word:find("=", 1, true) and word ~= "--help" and word ~= "-h" then
        i = i + 1
        rest[#rest + 1] = given[i]
      end
    end
    i = i + 1
  end
  return words, rest
end

return arguments
