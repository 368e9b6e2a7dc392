--- Where a result comes from: the script, its text's hash, its arguments, the versions.
local store = require "iolua.store"

local origin = {}

-- Options that say where results go, not what is measured.
local ELSEWHERE = { save = true, resume = true, json = true, csv = true, html = true }
local FLAGS = { quiet = true, plan = true }

-- The arguments that can change what is measured.
local function arguments_of(args)
  local kept, i = {}, 1
  while args[i] do
    local name, value = args[i]:match("^%-%-([%w_-]+)(=?)")
    if name and ELSEWHERE[name] then
      i = i + (value == "=" and 1 or 2)
    elseif name and (FLAGS[name] or FLAGS[name:gsub("^no%-", "")]) then
      i = i + 1
    else
      kept[#kept + 1] = args[i]
      i = i + 1
    end
  end
  return kept
end

--- { script, script_hash, arguments, versions }. Without a script its fields are nil.
---@return table
function origin.read()
  local args = rawget(_G, "arg") or {}
  local path = args[0]
  local text = path and path ~= "" and store.read_file(path)
  return {
    script = text and path or nil, script_hash = text and store.hash(text) or nil,
    arguments = arguments_of(args), versions = { iolua = require("iolua.core").version,
      lua = _VERSION },
  }
end

return origin
