-- A machine of four nodes with two cores each and a fast disk at every node: an operation that a
-- CPU of another node starts takes 2 us more. For scenarios about placement.
local devices = {}
for node = 0, 3 do
  devices[("/dev/nvme%dn1"):format(node)] = {
    size = "100g", channels = 8, service = "20us", node = node, remote = "2us",
  }
end

return {
  name = "four nodes, a disk each",
  topology = { synthetic = "pack:4 [numa] core:2 pu:1" },
  devices = devices,
  lacks = { "block events", "interrupts" },
}
