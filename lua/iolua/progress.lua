--- A progress line on stderr with the time left, where stderr is a terminal; nothing elsewhere.
--
-- Drawn between runs only: a line that moves while a run is measured would take CPU from it.
local core = require "iolua.core"
local units = require "iolua.units"

---@class iolua.progress
local Progress = {}
Progress.__index = Progress

local BAR = 20

local function clipped(text, columns)
  if #text < columns then return text end
  return text:sub(1, math.max(0, columns - 1))
end

-- Time left: what the steps done took, on average, for those to come; before the first one
-- what was estimated.
local function left_ns(self)
  local todo = self.total - self.done
  if self.done == 0 then return self.estimate_ns and self.estimate_ns * todo end
  return (core.clock.now() - self.begin_ns) // self.done * todo
end

local function draw(self, label)
  local full = self.total > 0 and BAR * self.done // self.total or BAR
  local left = left_ns(self)
  -- Whole seconds: the estimate is no better.
  local text = ("[%s%s] %d/%d %s%s"):format(("#"):rep(full), ("."):rep(BAR - full), self.done,
    self.total, left and units.format_ns((left + 999999999) // 1000000000 * 1000000000)
    .. " left  " or "", label or "")
  io.stderr:write("\r", clipped(text, self.columns), "\27[K")
  io.stderr:flush()
end

--- The step that begins now.
---@param label? string
function Progress:begin(label)
  if self.columns then draw(self, label) end
end

--- A step ended; `fast` where it took no time to speak of (found done already).
---@param fast? boolean
function Progress:step(fast)
  if fast then self.total = self.total - 1 else self.done = self.done + 1 end
end

--- Leave a clean line.
function Progress:close()
  if self.columns then
    io.stderr:write("\r\27[K")
    io.stderr:flush()
  end
  self.columns = nil
end

Progress.__close = Progress.close

local progress = {}

--- A new line of `total` steps.
---@param total integer
---@param options? { quiet: boolean, estimate_ns: integer }
---@return iolua.progress
function progress.new(total, options)
  options = options or {}
  return setmetatable({
    total = total, done = 0, begin_ns = core.clock.now(), estimate_ns = options.estimate_ns,
    columns = not options.quiet and core.term.columns(2) or nil,
  }, Progress)
end

return progress
