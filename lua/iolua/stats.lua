--- Statistics of runs, by what one asks of them. Pure functions; the parts are in stats/.
--
-- Values are arrays of finite numbers, one a run. Misuse raises; what cannot be said of so
-- few values is nil.
local anova = require "iolua.stats.anova"
local bootstrap = require "iolua.stats.bootstrap"
local compare = require "iolua.stats.compare"
local describe = require "iolua.stats.describe"
local power = require "iolua.stats.power"
local ranks = require "iolua.stats.ranks"
local series = require "iolua.stats.series"
local special = require "iolua.stats.special"

local stats = {
  -- one arm
  summary = describe.summary,
  median_interval = describe.median_interval,
  percentile_interval = describe.percentile_interval,
  bootstrap = bootstrap.bootstrap,
  outliers = describe.outliers,
  -- two arms
  paired = compare.paired,
  welch = compare.welch,
  permutation = compare.permutation,
  sign_flip = compare.sign_flip,
  mann_whitney = ranks.mann_whitney,
  tost = compare.tost,
  -- many
  holm = compare.holm,
  anova = anova.anova,
  -- what could have been seen
  power = power.power,
  minimum_detectable = power.minimum_detectable,
  replicates = power.replicates,
  -- in order
  drift = series.drift,
  effective_n = series.effective_n,
  segmented = series.segmented,
  -- quantiles
  t_quantile = special.t_quantile,
  f_quantile = special.f_quantile,
  normal_quantile = special.normal_quantile,
}

return stats
