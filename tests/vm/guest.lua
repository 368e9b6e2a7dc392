--- What jobs in a guest share: commands that must succeed, and programs that setup.sh has fetched.
local t = require "check"

local guest = {}

--- Output of a command of the shell, without the white space at its end; an error where it fails.
function guest.run(command)
  local output, status = t.run(command)
  if status ~= 0 then error(command .. ": " .. output, 2) end
  return (output:gsub("%s+$", ""))
end

--- Leaves the running case where a program was not to be had.
function guest.need(program)
  local path = program:match("%S+")
  if t.run("ls " .. path):find("No such") then t.skip("no " .. path) end
end

--- Puts fetched packages where their programs look for their files; the guest's root takes writes.
function guest.unpack(names)
  for _, name in ipairs(names) do
    t.run(("cp -rn '%s/%s/usr/.' /usr/"):format(os.getenv("VM_CACHE"), name))
  end
end

return guest
