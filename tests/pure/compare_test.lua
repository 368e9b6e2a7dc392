-- Comparisons, power and series against scipy 1.10.1 (Debian 12's python3-scipy).
--
-- The figures were printed once by python3 with the data below:
--   from scipy import stats as S
--   S.ttest_rel(B, A)  S.ttest_ind(C, A, equal_var=False)  S.f_oneway(A, B, C)
--   S.permutation_test((A, B), lambda a, b: np.mean(a) - np.mean(b), n_resamples=np.inf)
--   S.mannwhitneyu(F, E, method="exact")  S.mannwhitneyu(H, G, method="asymptotic")
--   S.nct.cdf(t, df, delta)  S.linregress(x, y)
--   S.bootstrap((C,), np.mean, n_resamples=200000, method="BCa")
-- and for power by solving 1 - nct.cdf(c, df, d) + nct.cdf(-c, df, d) = 0.8 with brentq.
local t = require "check"
local design = require "iolua.design"
local power = require "iolua.stats.power"
local random = require "iolua.random"
local stats = require "iolua.stats"

local A = { 10.1, 11.4, 9.8, 10.6, 12.0, 10.9 }
local B = { 11.0, 12.1, 10.9, 11.5, 12.2, 12.6 }
local C = { 3.1, 4.7, 2.2, 5.9, 4.4, 3.3, 6.1 }

t.case("paired differences agree with scipy", function()
  local r = stats.paired(A, B)
  t.equal(r.n, 6)
  t.equal(r.df, 5)
  t.near(r.difference, 0.9166666666666664, 1e-12)
  t.near(r.sd, 0.49159604012508756, 1e-12)
  t.near(r.half_width, 0.5158984051353666, 1e-9)
  t.near(r.t, 4.567501391955697, 1e-9)
  t.near(r.p, 0.006015590935586935, 1e-12)
  t.near(r.percent, 100 * r.difference / (64.8 / 6), 1e-9)
  t.near(r.low + r.high, 2 * r.difference, 1e-12)
end)

t.case("a void run voids its block only", function()
  local r = stats.paired({ 1, false, 3, 4.5 }, { 2, 3, false, 5 })
  t.equal(r.n, 2)
  t.same(r.differences, { 1, 0.5 })
  t.equal(stats.paired({ [1] = 1, [3] = 2 }, { [1] = 2, [3] = 2 }, { blocks = 3 }).n, 2)
end)

t.case("one block or none gives no interval", function()
  t.same(stats.paired({ 92.6969 }, { 110.101 }), { n = 1, difference = 110.101 - 92.6969 })
  t.same(stats.paired({}, {}), { n = 0 })
  t.same(stats.welch({ 92.6969 }, { 110.101 }), { n = 2, difference = 110.101 - 92.6969 })
end)

t.case("equal differences have an interval of no width and no p", function()
  local r = stats.paired({ 1, 2 }, { 2, 3 })
  t.equal(r.half_width, 0.0)
  t.equal(r.p, nil)
end)

t.case("Welch's comparison agrees with scipy", function()
  local r = stats.welch(A, C)
  t.near(r.difference, -6.557142857142856, 1e-12)
  t.near(r.df, 9.64114578092704, 1e-9)
  t.near(r.t, -10.16608594399831, 1e-9)
  t.near(r.p, 1.8272731713523524e-06, 1e-15)
  t.near(r.half_width, 1.444437308097752, 1e-9)
end)

t.case("equivalence is found where both one-sided tests say so", function()
  local r = stats.paired(A, B)
  t.near(stats.tost(r, 0.5).p, 0.9537424972247861, 1e-9)
  t.near(stats.tost(r, 1.5).p, 0.016766198801858943, 1e-9)
  t.near(stats.tost(r, 2).p, 0.0014735688981131604, 1e-9)
  t.equal(stats.tost(r, 0.5).equivalent, false)
  t.equal(stats.tost(r, 2).equivalent, true)
  t.same(stats.tost(stats.paired({ 1 }, { 2 }), 1), {})
  t.equal(stats.tost(stats.paired({ 1, 2 }, { 2, 3 }), 2).equivalent, true)
  t.raises("margin 0 is not above 0", stats.tost, r, 0)
end)

t.case("permutation tests agree with scipy's enumeration", function()
  local r = stats.permutation(A, B)
  t.equal(r.exact, true)
  t.equal(r.arrangements, 924)
  t.near(r.p, 0.06493506493506493, 1e-12)
  t.near(r.difference, 0.9166666666666664, 1e-9)
  r = stats.sign_flip(stats.paired(A, B).differences)
  t.equal(r.arrangements, 64)
  t.near(r.p, 0.03125, 1e-12)
  t.equal(stats.permutation({}, { 1 }), nil)
end)

t.case("drawn permutations come near the exact p and repeat with their seed", function()
  local r = stats.permutation(A, B, { arrangements = 1, seed = 5 })
  t.equal(r.exact, false)
  t.near(r.p, 0.0649, 0.01)
  t.equal(stats.permutation(A, B, { arrangements = 1, seed = 5 }).p, r.p)
  t.near(stats.sign_flip(stats.paired(A, B).differences, { arrangements = 1 }).p, 0.03125, 0.007)
end)

t.case("Mann-Whitney agrees with scipy, exact and approximate", function()
  local r = stats.mann_whitney({ 1, 2, 3, 4, 5.5 }, { 3.5, 6, 7, 8, 9, 10 })
  t.equal(r.u, 28.0)
  t.equal(r.exact, true)
  t.near(r.p, 0.017316017316017316, 1e-12)
  t.near(r.superiority, 28 / 30, 1e-12)
  local G, H = {}, {}
  for i = 1, 25 do G[i], H[i] = (i * 7 % 31) / 2, (i * 11 % 37) / 2 + 3 end
  r = stats.mann_whitney(G, H)
  t.equal(r.u, 463.0)
  t.equal(r.exact, false)
  t.near(r.p, 0.0035980581940499674, 1e-12)
end)

t.case("Mann-Whitney is exact with ties too", function()
  -- By enumeration of all 126 ways to take 4 of the 9 mid-ranks.
  t.near(stats.mann_whitney({ 1, 2, 2, 3 }, { 2, 3, 3, 4, 5 }).p, 0.15873015873015872, 1e-12)
  t.equal(stats.mann_whitney({ 1, 1 }, { 1, 1 }).p, 1)
  t.equal(stats.mann_whitney({ 1, 2, 3 }, { 11, 12, 13 }).shift, 10)
end)

t.case("Holm's correction has its textbook values", function()
  local got = stats.holm { 0.01, 0.04, 0.03, 0.005 }
  for i, want in ipairs { 0.03, 0.06, 0.06, 0.02 } do t.near(got[i], want, 1e-15) end
  t.same(stats.holm { 0.6, 0.7 }, { 1, 1 })
  t.same(stats.holm {}, {})
  t.raises("p value 1 is 1.5, not between 0 and 1", stats.holm, { 1.5 })
end)

t.case("analysis of variance agrees with scipy", function()
  local r = stats.anova { A, B, C }
  t.near(r.f, 95.0523975315437, 1e-9)
  t.near(r.p, 1.3190312797084958e-09, 1e-18)
  t.equal(r.df_between, 2)
  t.equal(r.df_within, 16)
  t.equal(stats.anova({ { 1 }, { 2 } }).f, nil)
  t.raises("value 2 has no label", stats.anova, { 1, 2 }, { "a" })
end)

-- The 18 placed rows of 2008. With A = I several labels are the same configuration.
local ROWS = { X = { 3859.9, 3856.3, 3850.3, 3853.9, 3853.5, 3856.6, 3854.7, 3855.3, 3856.2 },
               I = { 3857.0, 3856.5, 3853.7, 3854.8, 3855.1, 3854.9, 3853.4, 3852.2, 3854.0 } }

t.case("the published affinity table shows no difference by its own replicates", function()
  local values, labels = {}, {}
  for i, v in ipairs(ROWS.X) do values[i], labels[i] = v, "X" .. i end
  for i, v in ipairs(ROWS.I) do
    local q = ({ "X", "A", "A" })[(i - 1) // 3 + 1]
    local c = ({ "X", "A", "A" })[(i - 1) % 3 + 1]
    values[9 + i], labels[9 + i] = v, "I" .. q .. c
  end
  local r = stats.anova(values, labels)
  t.equal(r.groups, 13)
  t.equal(r.df_between, 12)
  t.equal(r.df_within, 5)
  t.near(r.error_sd, 1.42, 0.005)
  t.near(r.f, 2.65, 0.005)
  t.near(r.critical, 4.68, 0.005)
  t.ok(r.f < r.critical, "no difference found")
end)

t.case("the noncentral t distribution agrees with scipy", function()
  for _, row in ipairs { { 2, 5, 1.5, 0.6314492472556718 }, { 2.5, 3, 4, 0.11443624696579495 },
    { -1, 10, 0.5, 0.07477544588257867 }, { 1.96, 1000, 2.8, 0.20054274129423164 },
    { 12.7, 1, 14, 0.27178521526243177 } } do
    t.near(power.noncentral_t(row[1], row[2], row[3]), row[4], 1e-9)
  end
end)

t.case("the minimum detectable difference agrees with scipy", function()
  t.near(stats.minimum_detectable { sd = 1, n = 5 }, 1.681996965955559, 1e-9)
  t.near(stats.minimum_detectable { sd = 1, n = 8 }, 1.1560346777725306, 1e-9)
  t.near(stats.minimum_detectable { sd = 2, n = 20 }, 2 * 0.6604416546230157, 1e-9)
  t.near(stats.minimum_detectable { sd = 1, n1 = 6, n2 = 6 }, 1.7955409206039807, 1e-9)
  t.near(stats.power { sd = 1, n = 8, difference = 1 }, 0.680833958386018, 1e-9)
  -- Far from the origin: as the sum of its terms one by one gives it, and in milliseconds.
  t.near(stats.minimum_detectable { sd = 1, n = 2, confidence = 0.9975 }, 230.760949996, 1e-8)
  t.equal(stats.minimum_detectable { sd = 1, n = 1 }, nil)
  t.equal(stats.minimum_detectable { sd = 0, n = 5 }, 0.0)
end)

-- Two arms of `blocks` runs in randomised blocks; arm 2 is `effect` larger.
local function found(seed, blocks, noise, effect)
  local arms = { {}, {} }
  for _, run in ipairs(design.plan { cases = { {}, {} }, replicates = blocks, seed = seed,
                                     duplicate = false }) do
    arms[run.case][run.block] = 100 + noise() + (run.case - 1) * effect
  end
  return stats.paired(arms[1], arms[2]).p < 0.05
end

local function share_found(blocks, effect, next_noise)
  local count = 0
  for seed = 1, 1000 do
    if found(seed, blocks, next_noise, effect) then count = count + 1 end
  end
  return count / 1000
end

t.case("no difference is declared in 5 % of A/A comparisons, drifting noise or not", function()
  local generator, value = random.new(1), 0.0
  local function white() return generator:normal() end
  local function red()
    value = 0.7 * value + generator:normal()
    return value
  end
  local bound = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
  t.ok(share_found(5, 0, white) <= bound)
  t.ok(share_found(5, 0, red) <= bound)
  t.ok(share_found(5, 0, function() return math.exp(generator:normal()) end) <= bound)
end)

t.case("a difference of the minimum detectable size is found as often as it says", function()
  local generator = random.new(2)
  local effect = stats.minimum_detectable { sd = math.sqrt(2), n = 6 }
  local function white() return generator:normal() end
  t.near(share_found(6, effect, white), 0.8, 3 * math.sqrt(0.8 * 0.2 / 1000))
  t.ok(share_found(6, 2 * effect, white) >= 0.95)
end)

t.case("replicates are as many as the power needs and no more", function()
  t.equal(stats.replicates { sd = 1, difference = 0.7 }, 19)
  t.equal(stats.replicates { sd = 1, difference = 0.7, paired = false }, 34)
  t.equal(stats.replicates { sd = 1, difference = 100 }, 2)
  t.equal(stats.replicates { sd = 1, difference = 1e-9, most = 1000 }, nil)
  t.raises("difference 0 is not", stats.replicates, { sd = 1, difference = 0 })
end)

t.case("drift is the slope over the order of the runs", function()
  local r = stats.drift { 5.1, 5.0, 5.3, 5.2, 5.6, 5.4, 5.5, 5.9, 5.7, 6.0, 5.8, 6.1 }
  t.near(r.slope, 0.093006993006993, 1e-12)
  t.near(r.se, 0.011617655752332976, 1e-12)
  t.near(r.p, 1.1702227928659878e-05, 1e-14)
  t.near(r.change, 11 * r.slope, 1e-12)
  t.equal(stats.drift { 1, 2 }, nil)
  t.equal(stats.drift({ 1, 2, 3 }).p, nil)
end)

t.case("an autocorrelated series is worth fewer values", function()
  local generator, value = random.new(3), 0.0
  local white, red = {}, {}
  for i = 1, 4000 do
    white[i] = generator:normal()
    value = 0.7 * value + white[i]
    red[i] = value
  end
  -- n (1 - rho) / (1 + rho) for AR(1).
  local n = stats.effective_n(red)
  t.near(n, 4000 * 0.3 / 1.7, 120)
  t.ok(stats.effective_n(white) > 3000)
  t.equal(stats.effective_n { 5, 5, 5, 5, 5 }, 5.0)
  t.equal(stats.effective_n {}, nil)
end)

t.case("the bend of two exact lines is found", function()
  local x, y = {}, {}
  for i = 1, 10 do x[i], y[i] = i, i <= 4 and 70 * i or 280 + 10 * (i - 4) end
  local fit = stats.segmented(x, y)
  t.near(fit.at, 4, 1e-9)
  t.near(fit.before, 70, 1e-9)
  t.near(fit.after, 10, 1e-9)
  t.near(fit.residual, 0, 1e-12)
end)

t.case("a bend between two points is found", function()
  local x, y = {}, {}
  for i = 1, 10 do x[i], y[i] = 11 - i, math.min(70 * (11 - i), 70 * 4.3) end
  t.near(stats.segmented(x, y).at, 4.3, 1e-9)
end)

t.case("scaling of the 2005 stripes ends at four disks", function()
  local x = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
  local y = { 70.52, 138.21, 201.13, 271.44, 275.3, 319.66, 356, 366.55, 327.93, 362.51 }
  local fit = stats.segmented(x, y)
  -- A search over c in steps of 1e-4 with numpy.linalg.lstsq finds the same.
  t.near(fit.at, 4.3266, 1e-4)
  t.ok(fit.low < fit.at and fit.at < fit.high)
  t.ok(fit.p < 0.01)
  t.near(271.44 / (4 * 70.52), 0.9623, 5e-5)
  t.equal(stats.segmented({ 1, 2, 3 }, { 1, 2, 3 }), nil)
  t.raises("different lengths", stats.segmented, { 1, 2 }, { 1 })
end)

t.case("BCa intervals agree with scipy's and repeat with their seed", function()
  local r = stats.bootstrap(C, { resamples = 20000 })
  t.near(r.low, 3.2571, 0.06)
  t.near(r.high, 5.2286, 0.06)
  local skewed = { 0.2, 0.5, 1.1, 1.3, 2.0, 3.1, 8.0, 20.5 }
  r = stats.bootstrap(skewed, { resamples = 20000, seed = 4 })
  t.near(r.low, 1.62, 0.08)
  t.near(r.high, 12.2, 0.6)
  t.same(stats.bootstrap(skewed, { seed = 9 }), stats.bootstrap(skewed, { seed = 9 }))
  t.equal(stats.bootstrap({ 1 }), nil)
  r = stats.bootstrap { 5, 5, 5 }
  t.equal(r.low, 5.0)
  t.equal(r.high, 5.0)
end)

t.case("any statistic can be bootstrapped", function()
  local values = {}
  for i = 1, 40 do values[i] = i end
  local r = stats.bootstrap(values, { statistic = function(v)
    local s = 0
    for _, x in ipairs(v) do s = math.max(s, x) end
    return s
  end })
  t.equal(r.value, 40)
  t.ok(r.low <= r.high)
end)

t.case("a spread of nearly nothing is told at once, not after as many steps", function()
  -- Equal counts in both blocks leave a deviation of a few last bits: this once took hours.
  local begin = os.clock()
  t.equal(stats.replicates { sd = 1e-14, difference = 2, confidence = 0.99 }, 2)
  t.equal(stats.power { sd = 1e-14, difference = 2, n = 2 }, 1.0)
  t.near(stats.minimum_detectable { sd = 1e-14, n = 2 } / 1e-14,
    stats.minimum_detectable { sd = 1.0, n = 2 }, 1e-9)
  t.ok(os.clock() - begin < 2)
end)

t.case("far out the noncentral t is that of its chi part", function()
  -- The exact sum up to 10000, the limit beyond.
  t.near(power.noncentral_t(8500, 1, 9999), power.noncentral_t(8500, 1, 10001), 1e-4)
  t.near(power.noncentral_t(12.7, 1, 9999), power.noncentral_t(12.7, 1, 10001), 1e-12)
  t.equal(power.noncentral_t(5, 3, -1e9), 1.0)
end)

t.done()
