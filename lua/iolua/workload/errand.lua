--- Blocking work in threads, waited for in a fiber: lists of transfers, lists of files.
local core = require "iolua.core"
local fiber = require "iolua.fiber"

local errand = {}

local KIND = { read = 0, write = 1, update = 2 }

-- Wait for an errand that was started: its result, or nil, message, errno.
local function finish(e, message, errno)
  if not e then return nil, message, errno end
  local _ <close> = e
  fiber.wait_readable(e:fd())
  return e:join()
end

--- One step for errand.walk.
---@param kind string  "read", "write", or "update": read, then written back
---@return string
function errand.step(kind, pos, bytes)
  return string.pack("<I8I4I4", pos, bytes, KIND[kind])
end

--- Do the steps, by n threads that take the next in turn.
---@param f iolua.file
---@param steps string[]  of errand.step
---@param threads? integer
---@return table? result  elapsed_ns, begin_ns, end_ns, user_ns, system_ns, lat
---@return string? message
---@return integer? errno
---@async
function errand.walk(f, steps, threads)
  return finish(core.errand.walk(f, table.concat(steps), threads or 1))
end

--- Visit the names of a folder in order.
---@param options table  folder, what = "create" | "stat" | "remove", names: a list; bytes: a list
---  or nil; chunk, fsync, flush
---@async
function errand.names(options)
  local bytes = options.bytes
  if bytes then
    local packed = {}
    for i, n in ipairs(bytes) do packed[i] = string.pack("<I4", n) end
    bytes = table.concat(packed)
  end
  return finish(core.errand.names { folder = options.folder, what = options.what,
    n = #options.names, names = table.concat(options.names, "\0") .. "\0", bytes = bytes,
    chunk = options.chunk, fsync = options.fsync, flush = options.flush })
end

return errand
