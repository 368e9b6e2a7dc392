--- The old programs' loads as iolua's own: iolua.workload.dd { ... } and its like.
--
-- Each returns a table with the names that the reader of the original's output gives
-- (iolua.program), and `text` prints it in the original's columns. Every operation is done by
-- one synchronous call at a time, as the originals do it.
local NAMES = { dd = true, hdparm = true, spew = true, tiotest = true, iozone = true,
                bonnie = true }

return setmetatable({}, {
  __index = function(self, name)
    if not NAMES[name] then return nil end
    local workload = require("iolua.workload." .. name)
    rawset(self, name, workload)
    return workload
  end,
  __parts = NAMES,
})
