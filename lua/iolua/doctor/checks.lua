--- What --doctor looks at, an area each: a function(add, root) that adds findings by
--- add(name, state, detail [, reason, remedy]).
local core = require "iolua.core"
local system = require "iolua.doctor.system"
local block = require "iolua.doctor.block"

local checks = {}

checks.privileges = system.privileges
checks.clock = system.clock
checks.topology = system.topology
checks.programs = system.programs
checks.interrupts = block.interrupts
checks.settings = block.settings
checks["device-mapper"] = block.device_mapper
checks["test devices"] = block.test_devices

local function ring_remedy(message)
  if message:find("sysctl", 1, true) or message:find("io_uring_disabled", 1, true) then
    return "sysctl kernel.io_uring_disabled=0"
  end
  return "allow io_uring_setup in the container's seccomp profile (docker run --security-opt "
    .. "seccomp=unconfined), or run outside; jobs use the threads engine meanwhile"
end

local function absent(flags)
  local names = {}
  for name, here in pairs(flags) do
    if not here then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function add_mode(add, name, outcome, use, remedy)
  if outcome == true then
    add(name, "ok", use)
  else
    add(name, "limited", "not possible", outcome, remedy)
  end
end

function checks.io_uring(add, root)
  local facts, message = core.ring.probe()
  if not facts then
    add("engine", "no", "not usable: jobs run on the threads engine", message,
      ring_remedy(message))
    return
  end
  local missing = absent(facts.features)
  add("engine", "ok", ("io_uring, up to %d requests a ring"):format(facts.entries_max))
  if #missing == 0 then
    add("features", "ok", "all that iolua knows of")
  else
    add("features", "limited", "without " .. table.concat(missing, ", "),
      "kernel " .. (system.read(root, "/proc/sys/kernel/osrelease") or "?") .. " has none",
      "a newer kernel; what needs them is done another way")
  end
  local kinds = absent(facts.kinds)
  if #kinds > 0 then
    add("operations", "limited", "without " .. table.concat(kinds, ", "),
      "this kernel's io_uring has none", "they are done by plain system calls")
  end
  add_mode(add, "sqpoll", facts.sqpoll, "a kernel thread may submit (option sqpoll)",
    "root, or Linux 5.11 and later")
  add_mode(add, "iopoll", facts.iopoll,
    "rings may poll for completions; the device must have poll queues (nvme.poll_queues)",
    "a newer kernel")
  add_mode(add, "registered memory", facts.buffers, "1 MiB can be registered; limit " ..
    system.limit(root, "Max locked memory"), "ulimit -l unlimited")
end

-- Tracepoints by what they are for.
local EVENTS = {
  { "block counters", "where requests are queued, issued and completed", "block/block_bio_queue",
    "block/block_rq_issue", "block/block_rq_complete", "block/block_bio_complete",
    "block/block_bio_backmerge", "block/block_bio_frontmerge", "block/block_split",
    "block/block_rq_insert" },
  { "interrupts", "on which CPU a vector comes in", "irq/irq_handler_entry" },
  { "punts", "requests that io_uring hands to a worker",
    "io_uring/io_uring_queue_async_work" },
}

local function trace_remedy(errno)
  if errno == 2 then return "a kernel with CONFIG_BLK_DEV_IO_TRACE and CONFIG_IO_URING" end
  return "run as root; or setcap cap_perfmon+ep iolua, with sysctl kernel.perf_event_paranoid=1 "
    .. "and a tracefs that may be read"
end

function checks.tracepoints(add, root)
  for _, entry in ipairs(EVENTS) do
    local ok, why, errno = true, nil, nil
    for i = 3, #entry do
      if ok then ok, why, errno = core.events.available(entry[i]) end
    end
    if ok then
      add(entry[1], "ok", entry[2])
    else
      add(entry[1], "no", "cannot be counted", why, trace_remedy(errno))
    end
  end
  if system.exists(root, "/sys/kernel/tracing/events") then
    add("tracefs", "ok", "mounted on /sys/kernel/tracing")
  elseif core.events.available() then
    add("tracefs", "ok", "not mounted: iolua mounts one that only itself sees")
  else
    add("tracefs", "limited", "not mounted, or not to be read", "events are looked up in it",
      "mount -t tracefs tracefs /sys/kernel/tracing, as root")
  end
  local paranoid = tonumber(system.read(root, "/proc/sys/kernel/perf_event_paranoid"))
  add("perf_event_paranoid", "ok", tostring(paranoid or "unknown"))
end

return checks
