-- What other programs print, under every reader: the first word names one, or all read it.
local READERS = {}
for _, name in ipairs { "bonnie", "dbench", "dd", "fio", "hdparm", "iozone", "spew", "sysbench",
  "tiotest" } do
  READERS[name] = require("iolua.program." .. name).read
end

return function(text)
  local name, rest = text:match("^(%l+)\n(.*)$")
  if READERS[name] then text = rest end
  for key, read in pairs(READERS) do
    if READERS[name] == nil or key == name then
      local value, message = read(text)
      if value == nil and type(message) ~= "string" then error({}) end
    end
  end
end
