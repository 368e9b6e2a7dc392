-- Every scenario without arguments, as root and as nobody, in a guest where everything is to be had:
-- each ends in under two minutes, says what it lacks, and leaves the machine as it was.
-- timeout: 2400
local scenarios = require "scenarios"
local guest = require "vm.guest"
local t = require "check"

assert(os.execute("modprobe dm-mod && modprobe loop && modprobe dm-raid && modprobe ext4"))
guest.unpack { "dbench", "libpopt0", "bonnie++" }

scenarios.cases({}, 120, true, "/tmp")
t.done()
