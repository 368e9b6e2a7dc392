--- What a job may be told, in fio's words. Sizes in bytes, durations in ns once checked.
local distribution = require "iolua.distribution"
local sizes = require "iolua.job.sizes"
local units = require "iolua.units"

local function rate(value)
  local bytes, message = units.rate(value)
  if bytes and bytes < 1 then return nil, "0 is no rate" end
  return bytes, message
end

local function rate_iops(value)
  if value > 0 and value <= 1e12 then return value end
  return nil, ("%s is out of range: it must be over 0 and up to 1e12"):format(value)
end

local COUNT_MAX = 0x7fffffff

return {
  target = { type = "any",
    help = "file, path or simulated device, or a list of them; worker i takes target i mod n" },
  rw = { choices = { "nop", "read", "write", "randread", "randwrite", "rw", "randrw",
    "trim", "randtrim" }, required = true,
    help = "what to do; trim discards, nop is the engine alone" },
  bs = { type = "any", default = 4096, check = sizes.parse,
    help = "bytes an operation: \"4k\", \"4k-64k\", { [\"4k\"] = 60, [\"64k\"] = 40 }" },
  iodepth = { type = "integer", default = 1, min = 1, max = 32768,
    help = "operations in flight, each worker" },
  batch = { type = "integer", min = 1, max = 32768,
    help = "submit and wait for that many at once; default: submit what is ready, wait for one" },
  offset = { type = "size", default = 0, help = "first byte of the region" },
  size = { type = "size", help = "bytes of the region; default: to the end of the target" },
  io_size = { type = "size",
    help = "bytes each worker moves; default: the region once, no limit with a runtime" },
  number_ios = { type = "integer", min = 1, help = "operations of each worker" },
  runtime = { type = "duration", min = 1000, help = "time measured" },
  ramp_time = { type = "duration", default = 0, help = "time before anything counts" },
  grace = { type = "duration", default = 30000000000, min = 10000000, max = 3600000000000,
    help = "a request that is out for longer, while nothing comes back, ends the job" },
  rwmixread = { type = "integer", default = 50, min = 0, max = 100,
    help = "per cent of reads in rw and randrw" },
  distribution = { type = "string", check = function(text)
      local spec, message = distribution.parse(text)
      return spec and text, message
    end,
    help = "where operations go: \"zipf:1.2\", \"pareto:0.2\", \"zoned:60/10:40/90\" ..." },
  scatter = { type = "boolean",
    help = "hot places lie all over the region; default: those of zipf and pareto do" },
  rate_iops = { type = "number", check = rate_iops,
    help = "operations a second that each worker starts, whatever the device does" },
  rate = { type = "any", check = rate, help = "the same in bytes a second: \"70MB/s\"" },
  arrival = { choices = { "fixed", "poisson" }, default = "fixed",
    help = "starts under a rate: evenly spaced, or at random with the same mean" },
  thinktime = { type = "duration", min = 1,
    help = "pause after an operation has ended, before the next starts" },
  thinktime_blocks = { type = "integer", min = 1, max = COUNT_MAX,
    help = "pause when that many have ended; default: 1" },
  backlog = { type = "integer", min = 0,
    help = "operations due and not started beyond which it is overloaded; default: 1 s of them" },
  interval = { type = "duration", min = 1000000, help = "a sample of the result for each" },
  on_interval = { type = "function",
    help = "called with each sample as it ends: sample:set{...}, sample:stop()" },
  next = { type = "function",
    help = "called in each worker with (io): gives offset, bytes, kind, think_ns; nil ends" },
  on_complete = { type = "function",
    help = "called in each worker with (kind, offset, bytes, result, latency_ns)" },
  bs_max = { type = "size", min = 1, max = 0x7ffff000,
    help = "the most bytes that next asks for; default: bs" },
  norepeat = { type = "boolean", default = false, help = "random places visit each block once" },
  fsync = { type = "integer", default = 0, min = 0, max = COUNT_MAX,
    help = "fsync after that many writes" },
  fdatasync = { type = "integer", default = 0, min = 0, max = COUNT_MAX,
    help = "fdatasync after that many writes" },
  end_fsync = { type = "boolean", default = false, help = "fsync at the end, timed apart" },
  direct = { type = "boolean", help = "open a target given as a path with O_DIRECT" },
  overwrite = { type = "boolean", default = false,
    help = "a target given as a path may be overwritten" },
  destroy = { type = "path", help = "device whose data may be lost: its own path" },
  cpus = { type = "any", help = "CPUs of the workers: \"0-3\", {0, 1} or a cpuset" },
  cpus_allowed_policy = { choices = { "shared", "split" }, default = "shared",
    help = "split: worker i runs on the i-th CPU alone" },
  numjobs = { type = "integer", default = 1, min = 1, max = 4096, help = "workers" },
  seed = { type = "integer", min = 0,
    help = "of places and contents; default: drawn, and told in the result" },
  engine = { choices = { "auto", "io_uring", "threads", "sync", "mmap", "sim" }, default = "auto",
    help = "how I/O is done; auto: io_uring, else threads; mmap: reads as page faults" },
  drop_cache = { choices = { "fadvise", "blkflsbuf", "drop_caches" },
    help = "drop the page cache of buffered targets first, and tell what was left of it; "
      .. "drop_caches: everybody's on this machine" },
  memory = { type = "size", min = 4 << 20,
    help = "what this process may keep in the page cache and for itself meanwhile, by a cgroup" },
  verify = { type = "boolean", default = false,
    help = "stamp what is written, check what is read, and read back at the end" },
  do_verify = { type = "boolean", default = true,
    help = "with verify: read what was written back at the end" },
  ledger = { type = "table",
    help = "with verify: what an earlier job wrote, its r.verify.ledger" },
  replay = { type = "table",
    help = "with verify: options of the job that wrote, with number_ios: seed and order tell what" },
  continue_on_error = { type = "boolean", default = false,
    help = "count failed operations and go on" },
  clock = { choices = { "batch", "each" }, default = "batch",
    help = "when latencies are stamped" },
  mem = { type = "table", default = {}, help = "where buffers are",
    fields = { node = { type = "integer", min = 0, max = 4095, help = "NUMA node" } } },
  ring = { type = "table", default = {}, help = "how the ring is set up", fields = {
    sqpoll = { type = "boolean", default = false, help = "a kernel thread submits" },
    sq_cpu = { type = "integer", min = 0, max = 8191, help = "its CPU" },
    iopoll = { type = "boolean", default = false, help = "completions are polled for" },
    registered = { type = "boolean", default = true, help = "register file and buffers" },
  } },
}
