--- What works on this machine, and why not: `iolua --doctor`.
--
-- Each finding has a state: "ok", "limited" (something is missing that some experiments need)
-- or "no"; what is not ok carries a reason and a remedy. Nothing is changed by looking: what
-- is opened is closed again, no attribute is written.
local doctor = {}

local ORDER = { "privileges", "io_uring", "clock", "topology", "tracepoints", "interrupts",
  "settings", "device-mapper", "test devices", "programs" }

local USAGE = [[
usage: iolua --doctor [--json]
Says what works on this machine: for what does not, the reason and a remedy.
Exit status 0, whatever is found.
]]

---@class iolua.finding
---@field area string
---@field name string
---@field state "ok"|"limited"|"no"
---@field detail string    what was found
---@field reason? string   why it is not ok
---@field remedy? string   what would help

-- The findings of one area. A check that fails is itself a finding, not the end.
local function look(area, check, root)
  local findings = {}
  local function add(name, state, detail, reason, remedy)
    findings[#findings + 1] = { area = area, name = name, state = state, detail = detail,
                                reason = reason, remedy = remedy }
  end
  local ok, message = pcall(check, add, root)
  if not ok then
    add("check", "limited", "could not be looked at", tostring(message),
      "report this as a fault of iolua")
  end
  return findings
end

--- Look at this machine.
---@param options? { root: string }  put before /proc and /sys, for tests
---@return iolua.finding[] findings  by area, in a fixed order
function doctor.read(options)
  local checks = require "iolua.doctor.checks"
  local root = options and options.root or ""
  local all = {}
  for _, area in ipairs(ORDER) do
    for _, finding in ipairs(look(area, checks[area], root)) do all[#all + 1] = finding end
  end
  return all
end

local function count(findings)
  local n = { ok = 0, limited = 0, no = 0 }
  for _, finding in ipairs(findings) do n[finding.state] = n[finding.state] + 1 end
  return n
end

-- Words of a text in lines of at most `width`, the first after `first`, others after `rest`.
local function wrap(text, first, rest, width, lines)
  local line = first
  for word in text:gmatch("%S+") do
    if #line + #word + 1 > width and line ~= first and line ~= rest then
      lines[#lines + 1] = line
      line = rest
    end
    line = line .. (line:find("%s$") and "" or " ") .. word
  end
  lines[#lines + 1] = line
end

--- The findings as text for people.
---@param findings iolua.finding[]
---@return string
function doctor.text(findings)
  local lines, area = {}, nil
  local indent = (" "):rep(30)
  for _, finding in ipairs(findings) do
    if finding.area ~= area then
      area = finding.area
      if #lines > 0 then lines[#lines + 1] = "" end
      lines[#lines + 1] = area
    end
    wrap(finding.detail, ("  %-8s%-20s"):format(finding.state, finding.name), indent, 96, lines)
    if finding.reason then wrap(finding.reason, indent .. "why: ", indent, 96, lines) end
    if finding.remedy then wrap(finding.remedy, indent .. "try: ", indent, 96, lines) end
  end
  local n = count(findings)
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("%d ok, %d limited, %d not here"):format(n.ok, n.limited, n.no)
  return table.concat(lines, "\n") .. "\n"
end

--- The findings as JSON: { findings = [ ... ], summary = { ok, limited, no } }.
---@param findings iolua.finding[]
---@return string
function doctor.json(findings)
  local json = require "iolua.report.json"
  local order = { "area", "name", "state", "detail", "reason", "remedy" }
  local items = {}
  for i, finding in ipairs(findings) do items[i] = json.object(finding, order) end
  return json.encode { findings = json.array(items), summary = count(findings) } .. "\n"
end

--- The command: prints to stdout. Returns the exit status.
---@param ... string  its arguments
---@return integer status
function doctor.main(...)
  local form = doctor.text
  for _, word in ipairs { ... } do
    if word == "--json" then
      form = doctor.json
    elseif word == "--help" then
      io.stdout:write(USAGE)
      return 0
    else
      io.stderr:write(("iolua --doctor: unknown argument %s\n%s"):format(word, USAGE))
      return 2
    end
  end
  io.stdout:write(form(doctor.read()))
  return 0
end

return doctor
