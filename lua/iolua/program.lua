--- Readers of what other programs print: iolua.program.fio.read(text) and its like.
--
-- Each gives a table in bytes, ns and rates of these, or nil and the sentence that names the
-- line that does not fit. None touches a file or runs anything: iolua.run does that.
local READERS = { fio = true, bonnie = true, dbench = true, iozone = true, tiotest = true,
                  spew = true, hdparm = true, dd = true, sysbench = true }

return setmetatable({}, {
  __index = function(self, name)
    if not READERS[name] then return nil end
    local reader = require("iolua.program." .. name)
    rawset(self, name, reader)
    return reader
  end,
  __parts = READERS,
})
