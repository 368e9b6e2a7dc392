--- A copy of /proc and /sys made of plain files, for machines that no test has.
local t = require "check"

local fake = {}

--- Make a tree: files = { [path] = text }, links = { [path] = target }, folders = { path }.
--- Returns its root, a prefix for every path.
function fake.tree(spec)
  local root = t.run("mktemp -d /tmp/iolua-tree-XXXXXX"):gsub("\n", "")
  local made = {}
  local function folder_of(path)
    local folder = path:match("^(.*)/[^/]*$")
    if not made[folder] then t.run(("mkdir -p '%s'"):format(folder)) end
    made[folder] = true
  end
  for _, path in ipairs(spec.folders or {}) do folder_of(root .. path .. "/") end
  for path, text in pairs(spec.files or {}) do
    folder_of(root .. path)
    local f = assert(io.open(root .. path, "w"))
    f:write(text, "\n")
    f:close()
  end
  for path, target in pairs(spec.links or {}) do
    folder_of(root .. path)
    t.run(("ln -s '%s' '%s'"):format(target:gsub("^ROOT", root), root .. path))
  end
  return root
end

--- The first line of a file.
function fake.read(path)
  local f = io.open(path)
  local line = f and f:read("l")
  if f then f:close() end
  return line
end

--- The number "MAJOR:MINOR" of the filesystem that holds path.
function fake.device_of(path)
  return (t.run(("stat -c '%%Hd:%%Ld' '%s'"):format(path)):gsub("\n", ""))
end

function fake.remove(root)
  t.run(("chattr -R -i '%s' 2>/dev/null; rm -rf '%s'"):format(root, root))
end

return fake
