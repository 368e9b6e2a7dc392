-- What other programs print, under the reader that the first word names, or any. After a byte 1,
-- what exchanges values of fio's output.
local tree = require "tree"

local NAMES = { "bonnie", "dbench", "dd", "fio", "hdparm", "iozone", "spew", "sysbench", "tiotest" }
local READERS = {}
for _, name in ipairs(NAMES) do READERS[name] = require("iolua.program." .. name).read end

local seed <close> = assert(io.open("tests/fuzz/corpus/programs/fio"))
local FIO = seed:read("a"):match("\n(.*)$")

return function(text)
  if text:byte() == 1 then text = "fio\n" .. tree.exchanged(FIO, text:sub(2)) end
  local name, rest = text:match("^(%l+)\n(.*)$")
  if not READERS[name] then name, rest = NAMES[#text % #NAMES + 1], text end
  local value, message = READERS[name](rest)
  if value == nil and type(message) ~= "string" then error({}) end
end
