--- Results as text, CSV or JSON. Each part is loaded when it is first used.
return setmetatable({}, { __index = function(self, name)
  local known = { text = true, csv = true, json = true }
  if not known[name] then return nil end
  self[name] = require("iolua.report." .. name)
  return self[name]
end })
