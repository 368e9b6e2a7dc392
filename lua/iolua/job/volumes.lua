--- Volumes as targets of jobs: what the loop takes, and what a result says of them.
local volumes = {}

local COUNTS = { "ios", "bytes", "errors" }

local function is_volume(target)
  return type(target) == "table" and target.backend ~= nil and target.target ~= nil
end

--- What the loop works on for a target: a volume's device or handle, else the target itself.
---@param target any
---@return any? handle
---@return string? message
---@return integer? errno
function volumes.handle(target)
  if not is_volume(target) then return target end
  return target:target()
end

-- The first volume of a job's target, which may be a list.
local function first(target)
  if is_volume(target) then return target end
  if type(target) ~= "table" or getmetatable(target) then return nil end
  for _, one in ipairs(target) do
    if is_volume(one) then return one end
  end
end

-- What the legs have done, since `before` where that is given.
local function legs_of(v, before)
  local legs = v.legs and v:legs()
  for i, leg in ipairs(legs or {}) do
    for _, name in ipairs(COUNTS) do
      leg[name] = leg[name] - (before and before[i][name] or 0)
    end
  end
  return legs
end

--- Watch the volume of a target from now on: what is returned adds `backend`, `legs` and
--- `degraded` to the result it passes on.
---@param target any
---@return fun(r: table?, message: string?, errno: integer?, partial: table?): ...
function volumes.watch(target)
  local v = first(target)
  local before = v and legs_of(v)
  return function(r, message, errno, partial)
    local told = r or partial
    if v and told then
      told.backend, told.legs = v.backend, legs_of(v, before)
      told.degraded = v.degraded and v:degraded() or nil
    end
    return r, message, errno, partial
  end
end

return volumes
