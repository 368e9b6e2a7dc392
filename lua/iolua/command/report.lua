--- iolua report DIR: a result again, from its files alone, in any format.
local arguments = require "iolua.command.arguments"
local deliver = require "iolua.report.deliver"
local options = require "iolua.options"
local store = require "iolua.store"

local DECLARED = {
  "iolua report DIR: a result kept with --save, shown again.",
  format = { choices = { "text", "markdown", "html", "csv", "json", "json+", "grace", "svg" },
             default = "text", help = "of what is written" },
  output = { type = "path", help = "file to write; default: standard output" },
  plot = { type = "path", help = "draw PATH.svg and PATH.png with gnuplot; PATH.gp, .dat, .agr" },
  factor = { type = "string", help = "whose levels are compared; default: the first" },
  metric = { type = "string", help = "what is compared and drawn; default: the first" },
  baseline = { type = "string", help = "level the others are compared with" },
  smallest = { type = "string", default = "2%", help = "smallest difference that is of interest" },
  percentile = { type = "number", list = true, min = 0, max = 100,
    help = "percentiles of the latency histograms to add as metrics" },
  x = { type = "string", help = "factor along the picture's x axis" },
  series = { type = "string", help = "factor with a line for each level" },
}

local function comparisons_of(result, opt)
  if #result.rows == 0 then return {} end
  local ok, found = pcall(result.compare, result, { factor = opt.factor, metric = opt.metric,
    baseline = opt.baseline, smallest = opt.smallest })
  if not ok then arguments.usage("report", found) end
  return { found }
end

local function draw(result, opt)
  local done, message = result:plot { file = opt.plot, x = opt.x, y = opt.metric,
                                      series = opt.series }
  if not done then arguments.fail("report", message) end
  if message then io.stderr:write("iolua: ", message, "\n") end
end

local function main(...)
  local folders, rest = arguments.split("iolua report", ...)
  local opt = options(DECLARED, rest)
  if #folders ~= 1 then arguments.usage("report", "one folder is needed: iolua report DIR") end
  local result, message = store.load(folders[1])
  if not result then arguments.fail("report", message) end
  for _, p in ipairs(opt.percentile or {}) do result:percentile(p) end
  if opt.plot then draw(result, opt) end
  local text = deliver.text(result, opt.format, comparisons_of(result, opt))
  if not opt.output then
    if not opt.plot or opt.format ~= "text" then io.stdout:write(text) end
    return 0
  end
  local ok, why = store.write_file(opt.output, text)
  if not ok then arguments.fail("report", why) end
  return 0
end

return setmetatable({ main = main }, { __call = function(_, ...) return main(...) end })
