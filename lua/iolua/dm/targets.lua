--- The targets of device-mapper, as one table of descriptions.
--
-- `fields` are a target's words in order; from them tables are checked, built and explained.
-- A field has a name and a kind:
--   device   a path, or MAJOR:MINOR; `need(v, sectors)` says how much of it the segment uses,
--            from the field named by `at` on; "-" where `may_be_missing`
--   sector   a number of sectors; options give it in bytes
--   number   any other integer, from `min` on
--   word     one of `one_of`
--   counted  a number, then so many words
--   members  groups of fields, as often as the field named by `count` says
-- `rest = true`: the words from here on may be left out, together.
-- `multiple(v)`: what the segment's length must be a multiple of, in sectors.
-- `fit(least, v)`: the length that `least` sectors of the smallest device give.
-- `notes(v)`: what the user should know.
local targets = {}

local function whole(_, sectors) return sectors end

local function device(name, need, at)
  return { name = name, kind = "device", need = need, at = at }
end

local function sector(name, default)
  return { name = name, kind = "sector", default = default, min = 0 }
end

local function number(name, default, min)
  return { name = name, kind = "number", default = default, min = min or 0 }
end

local function word(name, one_of, default)
  return { name = name, kind = "word", one_of = one_of, default = default }
end

local function counted(name)
  return { name = name, kind = "counted" }
end

local function members(count, of)
  return { name = "members", kind = "members", count = count, of = of }
end

local function rest(field)
  field.rest = true
  return field
end

targets.linear = { fields = { device("device", whole, "offset"), sector("offset", 0) } }

targets.error = { fields = {} }
targets.zero = { fields = {} }

targets.striped = {
  fields = {
    { name = "stripes", kind = "number", min = 1 }, { name = "chunk", kind = "sector", min = 1 },
    members("stripes", {
      device("device", function(v, sectors) return sectors // v.stripes end, "offset"),
      sector("offset", 0),
    }),
  },
  multiple = function(v) return v.stripes * v.chunk end,
  fit = function(least, v) return least // v.chunk * v.chunk * v.stripes end,
}

targets.delay = {
  fields = {
    device("device", whole, "offset"), sector("offset", 0), number("delay_ms"),
    rest(device("write_device", whole, "write_offset")), sector("write_offset", 0),
    number("write_delay_ms", 0),
  },
}

targets.flakey = {
  fields = {
    device("device", whole, "offset"), sector("offset", 0), number("up_s"), number("down_s"),
    rest(counted("features")),
  },
}

targets["snapshot-origin"] = { fields = { device("origin", whole) } }

targets.snapshot = {
  fields = {
    device("origin", whole), device("cow"), word("persistent", { "P", "N", "PO" }, "N"),
    { name = "chunk", kind = "sector", min = 1, default = 16 }, rest(counted("features")),
  },
}

targets["thin-pool"] = {
  fields = {
    device("metadata"), device("data", whole), { name = "block", kind = "sector", min = 128,
      default = 128 }, number("low_water", 0), rest(counted("features")),
  },
}

targets.thin = {
  fields = { device("pool"), number("id", 0), rest(device("external_origin")) },
}

targets.cache = {
  fields = {
    device("metadata"), device("cache"), device("origin", whole),
    { name = "block", kind = "sector", min = 64, default = 512 }, counted("features"),
    { name = "policy", kind = "word", default = "default" }, counted("policy_args"),
  },
}

targets.writecache = {
  fields = {
    word("kind", { "s", "p" }, "s"), device("origin", whole), device("cache"),
    number("block_bytes", 4096, 512), counted("args"),
  },
}

targets["log-writes"] = { fields = { device("device", whole), device("log") } }

local LEVELS = {
  "raid0", "raid1", "raid4", "raid5_la", "raid5_ra", "raid5_ls", "raid5_rs", "raid5_n", "raid6_zr",
  "raid6_nr", "raid6_nc", "raid6_n_6", "raid6_ls_6", "raid6_rs_6", "raid6_la_6", "raid6_ra_6",
  "raid10",
}

local COPIES = 2

-- How many members' worth of data there is: counted in halves for raid10.
local function data_members(v)
  local level, n = v.level, #v.members
  if level == "raid0" then return n end
  if level == "raid1" then return 1 end
  if level == "raid10" then return n / COPIES end
  return n - (level:find("^raid6") and 2 or 1)
end

local function raid_chunk(v)
  local chunk = math.tointeger(tonumber(v.params[1] or "")) or 0
  return math.max(chunk, 1)
end

local function share(v, sectors)
  return math.ceil(sectors / data_members(v))
end

targets.raid = {
  fields = {
    { name = "level", kind = "word", one_of = LEVELS }, counted("params"),
    { name = "devices", kind = "number", min = 1 },
    members("devices", {
      { name = "meta", kind = "device", may_be_missing = true },
      { name = "device", kind = "device", need = share, may_be_missing = true },
    }),
  },
  multiple = function(v)
    if v.level == "raid1" then return 1 end
    return math.tointeger(raid_chunk(v) * math.max(1, math.floor(data_members(v)))) or 1
  end,
  fit = function(least, v)
    local chunk = v.level == "raid1" and 1 or raid_chunk(v)
    local length = math.floor(least // chunk * chunk * data_members(v))
    local row = targets.raid.multiple(v)
    return length // row * row
  end,
  notes = function(v)
    for _, member in ipairs(v.members) do
      if member.meta ~= "-" then return {} end
    end
    if v.level == "raid0" then return {} end
    return { "no metadata devices, so no write-intent bitmap: region_size changes nothing" }
  end,
}

return targets
