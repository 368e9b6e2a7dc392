--- Actions on the whole machine that cannot be undone: the record of a killed run is dropped.
local GONE = { look = function() return "gone" end, undo = function() return true end }

return { undo = { action = GONE } }
