-- unpack.lua BZIMAGE VMLINUX: the kernel inside a boot image, so that the emulator need not
-- decompress it (which takes it half a minute).
--
-- The setup header (Documentation/arch/x86/boot.rst) says where the compressed kernel lies:
-- at 0x1f1 the number of setup sectors after the first, at 0x248 the payload's place and length
-- in the part that follows. Its last four bytes are the length uncompressed.
local input, output = arg[1], arg[2]

local file = assert(io.open(input, "rb"))
local image = file:read("a")
file:close()
assert(image:sub(0x202 + 1, 0x202 + 4) == "HdrS" or image:sub(0x203, 0x206) == "HdrS",
  input .. " is no boot image")

local sectors = image:byte(0x1f1 + 1)
local offset, length = string.unpack("<I4I4", image, 0x248 + 1)
local start = ((sectors == 0 and 4 or sectors) + 1) * 512 + offset
local payload = image:sub(start + 1, start + length - 4)

local PROGRAMS = {
  { magic = "\xfd7zXZ\0", command = "xz -dc --single-stream" },
  { magic = "\x28\xb5\x2f\xfd", command = "zstd -dcq" },
  { magic = "\x1f\x8b", command = "gzip -dc" },
}

for _, program in ipairs(PROGRAMS) do
  if payload:sub(1, #program.magic) == program.magic then
    local pipe = assert(io.popen(("%s > '%s'"):format(program.command, output), "w"))
    pipe:write(payload)
    assert(pipe:close(), program.command .. " failed")
    os.exit(0)
  end
end
-- Compressed in a way not known here: the image itself boots too, only slower.
file = assert(io.open(output, "wb"))
file:write(image)
file:close()
