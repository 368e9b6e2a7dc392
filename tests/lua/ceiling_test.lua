-- Where no place of a CPU could matter, the affinity matrix says so.
package.path = "scenarios/?.lua;" .. package.path
local ceiling = require "affinity.ceiling"
local t = require "check"

-- E5's disks: 1.19 s an operation; 60 us of CPU time are 0.005 % of it.
t.case("slow disks: all the CPU time of an operation is less than what is of interest", function()
  local lines = { { busy_us_per_op = 90, p50_us = 1.20e6 }, { busy_us_per_op = 60, p50_us = 1.19e6 } }
  t.contains(ceiling.why({ metric = "p50_us" }, lines, 2), "1.19e+06 us")
  t.contains(ceiling.why({ metric = "MB_per_s" }, lines, 2), "costs all CPUs together 60 us")
end)

t.case("fast ones, CPU time itself and what was not seen are judged by what was measured", function()
  local fast = { { busy_us_per_op = 20, p50_us = 60 } }
  t.equal(ceiling.why({ metric = "p50_us" }, fast, 2), nil)
  local slow = { { busy_us_per_op = 60, p50_us = 1.19e6 } }
  t.equal(ceiling.why({ metric = "busy_us_per_op" }, slow, 2), nil)
  t.equal(ceiling.why({ metric = "p50_us" }, slow, 0.0001), nil)
  t.equal(ceiling.why({ metric = "p50_us" }, { { p50_us = 100 }, {} }, 2), nil)
end)

t.done()
