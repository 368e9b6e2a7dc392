--- iolua compare DIR DIR...: results of several runs or machines, case by case.
local across = require "iolua.experiment.across"
local arguments = require "iolua.command.arguments"
local json = require "iolua.report.json"
local options = require "iolua.options"
local store = require "iolua.store"
local summary = require "iolua.report.summary"

local DECLARED = {
  "iolua compare DIR DIR...: the first is the baseline of the others.",
  metric = { type = "string", help = "what is compared; default: the first" },
  smallest = { type = "string", default = "2%", help = "smallest difference that is of interest" },
  format = { choices = { "text", "markdown", "json" }, default = "text", help = "of the output" },
}

local function text_of(c)
  local lines = { summary.comparison(c) }
  for _, line in ipairs(c.remarks) do lines[#lines + 1] = line .. "\n" end
  return table.concat(lines)
end

local function markdown_of(c)
  local markdown, escape = require "iolua.report.markdown", require "iolua.report.escape"
  local lines = { "**" .. escape.markdown(c.sentence) .. "**\n",
                  markdown.table(summary.verdict_columns(c), c.arms) }
  for _, line in ipairs(c.remarks) do lines[#lines + 1] = "- " .. escape.markdown(line) end
  return table.concat(lines, "\n") .. "\n"
end

local function main(...)
  local folders, rest = arguments.split("iolua compare", ...)
  local opt = options(DECLARED, rest)
  if #folders < 2 then
    arguments.usage("compare", "two folders or more are needed: iolua compare DIR DIR...")
  end
  local results = {}
  for i, folder in ipairs(folders) do
    local result, message = store.load(folder)
    if not result then arguments.fail("compare", message) end
    result.label = folder:gsub("/+$", "")
    results[i] = result
  end
  local ok, c = pcall(across.compare, results, { metric = opt.metric, smallest = opt.smallest })
  if not ok then arguments.usage("compare", c) end
  if opt.format == "json" then io.stdout:write(json.encode(c, { indent = true }), "\n")
  else io.stdout:write(opt.format == "markdown" and markdown_of(c) or text_of(c)) end
  return 0
end

return setmetatable({ main = main }, { __call = function(_, ...) return main(...) end })
