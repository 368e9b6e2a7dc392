--- Running every scenario as a user does, and looking at what is left: for the short form in
--- `make check`, the long one of check-full and the one in the guest.
local t = require "check"

local scenarios = {}

local IOLUA = os.getenv("IOLUA")
local tree = (t.run("pwd")):gsub("\n", "")

--- The smallest run of each; what is not named takes no arguments.
scenarios.SMALL = {
  adapter_scaling = "--runtime 20ms --ramp 5ms --replicates 2 --size 2m",
  affinity_matrix = "--runtime 20ms --ramp 5ms --replicates 1 --size 4m --loads single --modes inline",
  bitmap_chunk = "--replicates 1 --regions 2m --loads none",
  hello = "--reads 1000",
  pointer_chase = "--reads 80",
  programs = "--replicates 2 --size 1m --bandwidth none --programs dd",
  readahead_compare = "--replicates 1 --size 2m --operations 4 --patterns random --values 128k",
  stripe_sweep = "--count 2 --size 2m --runtime 20ms --ramp 5ms --replicates 1 --iodepth 4",
}

--- Their names.
function scenarios.list()
  local list = {}
  for name in t.run("ls scenarios/*.lua"):gmatch("scenarios/([%w_]+)%.lua") do
    list[#list + 1] = name
  end
  return list
end

--- The described machines: paths.
function scenarios.machines()
  local list = {}
  for path in t.run("ls scenarios/machines/*.lua"):gmatch("%S+") do list[#list + 1] = path end
  return list
end

-- What could be left of runs in `folder`: files, loop devices over them, records of the journal.
local LEFT = [[
cd %s && find . -path ./state -prune -o -print | sort
losetup -a 2>/dev/null | grep -F %s/
ls state/*.journal 2>/dev/null
true
]]

-- And of the machine's: volumes, disks in memory, control groups, settings of all disks. Other
-- tests make and change such things too, so this is for a machine where none of them runs.
local LEFT_OF_MACHINE = [[
dmsetup ls 2>/dev/null | grep -v "No devices"
losetup -a 2>/dev/null
cd /sys/block && ls -d zram* loop*/loop 2>/dev/null
cat /proc/self/mountinfo | wc -l
find /sys/fs/cgroup -type d 2>/dev/null | sort
for d in *; do
  case $d in
    loop*) grep -s . $(for a in read_ahead_kb rq_affinity nomerges nr_requests scheduler; do
             echo $d/queue/$a; done) ;;
    *) grep -s . /dev/null $d/queue/* ;;
  esac
done
grep -s . /dev/null /proc/irq/*/smp_affinity_list
ls /tmp
ls /var/tmp | grep -x 'iolua-......'
true
]]

--- What there is now that a run could leave: text.
---@param folder string
---@param alone boolean?  no other test runs
function scenarios.left(folder, alone)
  local text = t.run(LEFT:format(folder, folder))
  return alone and text .. t.run(LEFT_OF_MACHINE) or text
end

--- The lines that are only in one of two texts.
function scenarios.changes(before, after)
  local list, seen = {}, {}
  for line in before:gmatch("[^\n]+") do seen[line] = (seen[line] or 0) + 1 end
  for line in after:gmatch("[^\n]+") do
    seen[line] = (seen[line] or 0) - 1
    if seen[line] < 0 then list[#list + 1] = "+ " .. line end
  end
  for line, n in pairs(seen) do
    if n > 0 then list[#list + 1] = "- " .. line end
  end
  return table.concat(list, "\n")
end

--- A folder that everybody may write to, for one user's runs.
---@param base string?  default: /var/tmp
function scenarios.folder(base)
  local dir = (t.run(("mktemp -d %s/scenarios.XXXXXX"):format(base or "/var/tmp"))):gsub("\n", "")
  t.run("chmod 1777 " .. dir)
  return dir
end

local AS = { nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups --" }

--- Run one: its output, exit status and seconds.
---@param name string
---@param arguments string
---@param o { folder: string, user: string?, limit: integer?, machine: string? }
function scenarios.run(name, arguments, o)
  local command = ("cd %s && TMPDIR=%s HOME=%s IOLUA_STATE=%s timeout -k 5 %d %s %s %s %s %s"):format(
    o.folder, o.folder, o.folder, o.folder .. "/state", o.limit or 120, AS[o.user] or "", IOLUA,
    o.machine and "--machine " .. tree .. "/" .. o.machine or "",
    tree .. "/scenarios/" .. name .. ".lua", arguments)
  local from = os.time()
  local output, status = t.run(command .. " </dev/null")
  return output, status, os.time() - from
end

--- May this process become another user?
function scenarios.users()
  if t.run("id -u") ~= "0\n" then return { "self" } end
  if select(2, t.run(AS.nobody .. " " .. IOLUA .. " -e 'os.exit(0, true)'")) ~= 0 then
    return { "root" }
  end
  return { "root", "nobody" }
end

--- A case for each scenario and user: it ends by itself and in time with 0, or with 1 and a
--- sentence, never with a stack trace; and what it had made is gone.
---@param which table   arguments by name
---@param limit integer seconds it may take
---@param alone boolean? no other test runs: the whole machine is compared
---@param base string?   where scratch files go
function scenarios.cases(which, limit, alone, base)
  for _, user in ipairs(scenarios.users()) do
    local folder = scenarios.folder(base)
    t.run(("install -d -m 700 %s %s/state"):format(user == "nobody" and "-o 65534 -g 65534" or "",
      folder))
    for _, name in ipairs(scenarios.list()) do
      t.case(("%s as %s ends, says what it lacks, leaves nothing"):format(name, user), function()
        local before = scenarios.left(folder, alone)
        local output, status, seconds = scenarios.run(name, which[name] or "",
          { folder = folder, user = user, limit = limit })
        t.ok(status == 0 or status == 1, ("status %s after %d s:\n%s"):format(status, seconds,
          output))
        t.ok(not output:find("stack traceback", 1, true), output)
        t.ok(not output:find("journal folder", 1, true), output)
        t.ok(#output > 20, "nothing was said")
        if limit > 60 then print(("%s as %s: %d s"):format(name, user, seconds)) end
        t.equal(scenarios.changes(before, scenarios.left(folder, alone)), "")
      end)
    end
    t.run("rm -rf " .. folder)
  end
end

return scenarios
