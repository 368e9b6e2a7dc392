--- Volumes that a run left: found by the UUID it gave them, whatever they are called now.
local core = require "iolua.core"

local RETRY_NS = 2000000000

local dm = {}

--- record.old is the UUID.
function dm.look(record)
  if not core.dm.available() then return "same" end
  return core.dm.find(record.old) and "ours" or "same"
end

function dm.undo(record)
  local info = core.dm.find(record.old)
  if not info then return true end
  if info.suspended then core.dm.resume(info.name) end
  local ok, message = core.dm.remove(info.name, false, RETRY_NS)
  if ok then return true end
  return nil, message
end

return { undo = { dm = dm } }
