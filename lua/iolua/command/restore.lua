--- iolua --restore: undo what killed runs have left, and say what was done.
local journal = require "iolua.journal"

return function(...)
  if select("#", ...) > 0 then
    io.stderr:write("iolua --restore: unknown argument ", (...), "\nusage: iolua --restore\n")
    return 2
  end
  local report = journal.recover()
  for _, text in ipairs(journal.lines(report)) do io.stderr:write("iolua: ", text, "\n") end
  if report.restored == 0 and #report.problems == 0 and #report.notes == 0 then
    io.stderr:write("iolua: nothing to undo\n")
  end
end
