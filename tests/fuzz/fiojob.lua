-- Job files of fio: jobs and what is refused of them; the script that is made is Lua.
local convert = require "iolua.fio.convert"
local known = require "iolua.job.options"
local parse = require "iolua.fio.parse"
local plan = require "iolua.fio.plan"

local ABOUT = {
  path = "job.fio", keywords = { pagesize = 4096, ncpus = 2 },
  env = function(name) return name == "SIZE" and "4k" or nil end,
  read = function(path) return path == "self" and "[b]\ninclude self\n" or nil, "not there" end,
}

return function(text)
  local sections, message = parse.text(text, ABOUT)
  if not sections then
    if type(message) ~= "string" then error({}) end
    return
  end
  local jobs, refused = plan.jobs(sections, known)
  for _, r in ipairs(refused) do plan.sentence(r) end
  local script = convert.text(jobs, "job.fio", refused)
  local made, why = load(script, "=script", "t")
  if not made then error("attempt to load: " .. why) end
end
