--- Where programs come from, for the sentence that says one is missing.
local packages = {}

local DEBIAN = {
  ["bonnie++"] = "bonnie++", dbench = "dbench", fio = "fio", spew = "spew", hdparm = "hdparm",
  sysbench = "sysbench", dd = "coreutils", blockdev = "util-linux", lsblk = "util-linux",
  mkfs = "util-linux", ["mkfs.ext4"] = "e2fsprogs", ["mkfs.xfs"] = "xfsprogs",
  dmsetup = "dmsetup", mdadm = "mdadm", blktrace = "blktrace", btt = "blktrace",
}

-- What Debian 12's main does not have, and what stands for it here.
local ELSEWHERE = {
  tiotest = "iolua.workload.tiotest does what it does",
  iozone = "iolua.workload.iozone does its write, read and random set",
}

--- Why a program cannot be run: the package that holds it, as far as it is known.
---@param name string
---@return string
function packages.missing(name)
  local short = name:match("[^/]*$")
  if DEBIAN[short] then
    return ("run %s: not installed: apt-get install %s"):format(short, DEBIAN[short])
  elseif ELSEWHERE[short] then
    return ("run %s: not installed, and not in Debian 12: %s"):format(short, ELSEWHERE[short])
  end
  return ("run %s: there is no such program"):format(name)
end

return packages
