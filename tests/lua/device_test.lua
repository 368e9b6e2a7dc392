-- Disks as sysfs describes them: on this machine, and on machines made of plain files.
local t = require "check"
local fake = require "fake"
local iolua = require "iolua"

-- Files of a disk at `sys`, known as `number`.
local function disk(spec, sys, number, name, more)
  spec.files[sys .. "/dev"] = number
  spec.files[sys .. "/size"] = "2097152"
  spec.files[sys .. "/queue/scheduler"] = "[none] mq-deadline"
  spec.files[sys .. "/queue/logical_block_size"] = "4096"
  spec.files[sys .. "/queue/rotational"] = "0"
  for path, text in pairs(more or {}) do spec.files[sys .. "/" .. path] = text end
  spec.links["/sys/dev/block/" .. number] = "ROOT" .. sys
  spec.links["/sys/block/" .. name] = "ROOT" .. sys
end

local function nvme()
  local spec = { files = {}, links = {} }
  local pci = "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"
  disk(spec, pci .. "/nvme/nvme0/nvme0n1", "259:0", "nvme0n1",
    { ["mq/0/cpu_list"] = "0, 2", ["mq/1/cpu_list"] = "1, 3" })
  spec.links[pci .. "/nvme/nvme0/nvme0n1/device"] = "ROOT" .. pci .. "/nvme/nvme0"
  spec.files[pci .. "/nvme/nvme0/model"] = "FAST SSD 1TB        "
  spec.files[pci .. "/nvme/nvme0/serial"] = "S123"
  spec.files[pci .. "/numa_node"] = "1"
  spec.files[pci .. "/current_link_speed"] = "16.0 GT/s PCIe"
  spec.files[pci .. "/current_link_width"] = "4"
  spec.files[pci .. "/max_link_speed"] = "32.0 GT/s PCIe"
  spec.files[pci .. "/max_link_width"] = "8"
  spec.files["/sys/bus/pci/drivers/nvme/module"] = ""
  spec.links[pci .. "/driver"] = "ROOT/sys/bus/pci/drivers/nvme"
  for _, irq in ipairs { 40, 41, 42 } do
    spec.files[pci .. "/msi_irqs/" .. irq] = "msix"
    spec.files["/proc/irq/" .. irq .. "/smp_affinity_list"] = "0-3"
    spec.files["/proc/irq/" .. irq .. "/effective_affinity_list"] = "2"
  end
  spec.files["/proc/interrupts"] = [[
           CPU0       CPU1       CPU2       CPU3
 40:          9          0          0          0  PCI-MSIX-0000:81:00.0   0-edge      nvme0q0
 41:          0         10        300          0  PCI-MSIX-0000:81:00.0   1-edge      nvme0q1
 42:          0          0          0          7  PCI-MSIX-0000:81:00.0   2-edge      nvme0q2
NMI:          0          0          0          0  Non-maskable interrupts]]
  spec.files["/proc/17/comm"] = "irqbalance"
  return spec
end

t.case("a disk on PCI Express is told with its link, node, queues and vectors", function()
  local root = fake.tree(nvme())
  local list = iolua.devices(root)
  t.equal(#list, 1)
  local d = list[1]
  t.same(d, { name = "nvme0n1", path = "/dev/nvme0n1", dev = "259:0", bytes = 1073741824,
    block_size = 4096, model = "FAST SSD 1TB", serial = "S123", rotational = false,
    read_only = false, controller = "0000:81:00.0", driver = "nvme", node = 1, queues = 2,
    link = { GT_per_s = 16.0, width = 4, max_GT_per_s = 32.0, max_width = 8 },
    vectors = { 41, 42 }, scheduler = "none" })
  t.contains(tostring(list), "nvme0n1  1.1 GB  FAST SSD 1TB  nvme    0000:81:00.0  16 GT/s x4")
  fake.remove(root)
end)

t.case("with NVMe multipath the controller is found through the subsystem", function()
  local spec = nvme()
  spec.links["/sys/dev/block/259:0"] = nil
  spec.links["/sys/block/nvme0n1"] = nil
  local subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
  disk(spec, subsystem .. "/nvme0n1", "259:1", "nvme0n1")
  spec.links[subsystem .. "/nvme0n1/device"] = "ROOT" .. subsystem
  spec.links[subsystem .. "/nvme0"] =
    "ROOT/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/nvme/nvme0"
  local root = fake.tree(spec)
  local d = iolua.devices(root)[1]
  t.equal(d.controller, "0000:81:00.0")
  t.same(d.vectors, { 41, 42 })
  t.equal(d.node, 1)
  fake.remove(root)
end)

t.case("what is not known is missing", function()
  local spec = { files = {}, links = {} }
  disk(spec, "/sys/devices/virtual/block/ram0", "1:0", "ram0")
  disk(spec, "/sys/devices/virtual/block/loop0", "7:0", "loop0", { size = "0" })
  local root = fake.tree(spec)
  local list = iolua.devices(root)
  t.equal(#list, 1)                         -- an empty loop device is none
  local d = list[1]
  t.equal(d.name, "ram0")
  for _, name in ipairs { "model", "controller", "driver", "link", "node", "queues",
    "vectors" } do
    t.equal(d[name], nil, name)
  end
  fake.remove(root)
end)

t.case("the disk under a file of this machine is in the list", function()
  local d, message = iolua.device.find(arg[0])
  if not d then t.skip(message) end
  local names = {}
  for _, one in ipairs(iolua.devices()) do names[one.name] = one.dev end
  t.equal(names[d.name], d.dev)
  t.equal(tostring(d.bytes), (t.run(("echo $(($(cat /sys/block/%s/size) * 512))"):format(
    d.name)):gsub("\n", "")))
end)

t.done()
