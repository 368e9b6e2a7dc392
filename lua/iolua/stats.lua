--- Statistics of runs, by what one asks of them. Pure functions; the parts are in stats/.
--
-- Values are arrays of finite numbers, one a run. Misuse raises; what cannot be said of so
-- few values is nil.
local describe = require "iolua.stats.describe"
local special = require "iolua.stats.special"

local stats = {
  summary = describe.summary,
  median_interval = describe.median_interval,
  percentile_interval = describe.percentile_interval,
  outliers = describe.outliers,
  t_quantile = special.t_quantile,
  f_quantile = special.f_quantile,
  normal_quantile = special.normal_quantile,
}

return stats
