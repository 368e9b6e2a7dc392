-- Tables as text, CSV and JSON: nothing is lost and nothing breaks the form.
local t = require "check"
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"
local number = require "iolua.report.number"
local text = require "iolua.report.text"

local NASTY = { 'a,b', 'say "x"', "two\nlines", "=1+1", '&<"', "nul\0here", "bad\xffutf8",
                " space ", "", "é", "\r\n", "\xed\xa0\x80" }

t.case("floats are printed so that they read back", function()
  for _, x in ipairs { 0.1, 1 / 3, 1e300, 5e-324, 3854.855, 2.0^53, -0.0, 12.0, 1e21,
    1.7976931348623157e308, 123456789.123456789 } do
    local printed = number.float(x)
    t.equal(tonumber(printed), x)
    t.equal(math.type(tonumber(printed)), "float")
  end
  t.equal(number.float(0.1), "0.1")
  t.equal(number.float(12.0), "12.0")
  t.equal(number.float(0 / 0), nil)
end)

t.case("JSON keeps integers and floats exactly", function()
  for _, x in ipairs { math.maxinteger, math.mininteger, 0, 9007199254740993, 0.1, 1 / 3, 5.0 } do
    local back = json.decode(json.encode(x))
    t.equal(back, x)
    t.equal(math.type(back), math.type(x))
  end
  t.equal(json.encode(math.maxinteger), "9223372036854775807")
  t.equal(json.encode { 0.1, 1 / 3 }, "[0.1,0.3333333333333333]")
end)

t.case("what was not measured is null", function()
  t.equal(json.encode(nil), "null")
  t.equal(json.encode { a = 0 / 0, b = 1 / 0, c = -1 / 0, d = json.null },
    '{"a":null,"b":null,"c":null,"d":null}')
  t.equal(json.encode(0 / 0), "null")
  t.equal(json.encode { 1, nil, 3 }, "[1,null,3]")
  t.equal(json.encode(json.array({ nil, 2 }, 3)), "[null,2,null]")
end)

t.case("keys come in a stable order", function()
  t.equal(json.encode { b = 1, a = 2, c = 3 }, '{"a":2,"b":1,"c":3}')
  t.equal(json.encode(json.object({ b = 1, a = 2, c = 3 }, { "c", "b", "zz" })),
    '{"c":3,"b":1,"a":2}')
  t.equal(json.encode { [0] = 5, [10] = 7, [9] = 6 }, '{"0":5,"9":6,"10":7}')
end)

t.case("empty tables are objects unless marked", function()
  t.equal(json.encode {}, "{}")
  t.equal(json.encode { a = json.array {} }, '{"a":[]}')
end)

t.case("strings survive, or are mended where they are not UTF-8", function()
  for _, s in ipairs(NASTY) do
    local back = json.decode(json.encode { [s] = s })
    local key, value = next(back)
    t.equal(key, value)
    if utf8.len(s) then t.equal(value, s) end
    t.ok(utf8.len(value))
  end
  t.equal(json.decode(json.encode("bad\xffutf8")), "bad\u{FFFD}utf8")
  t.equal(json.encode("a\0b"), '"a\\u0000b"')
  t.equal(json.decode(json.encode("\xed\xa0\x80x\xc0")), "\u{FFFD}\u{FFFD}\u{FFFD}x\u{FFFD}")
end)

t.case("JSON refuses what it cannot say", function()
  local loop = {}
  loop.loop = loop
  t.raises("contains itself", json.encode, loop)
  t.raises("a value of type function", json.encode, { f = print })
  t.raises("a key of type table", json.encode, { [{}] = 1 })
  local shared = { 1 }
  t.equal(json.encode { a = shared, b = shared }, '{"a":[1],"b":[1]}')
end)

t.case("JSON that is wrong is named", function()
  local value, message = json.decode('{"a":')
  t.equal(value, nil)
  t.contains(message, "json:")
  value, message = json.decode("[1] x")
  t.equal(value, nil)
  t.contains(message, "at byte 5")
  t.equal(json.decode('{"a":null}', json.null).a, json.null)
  t.equal(json.decode('{"a":null}').a, nil)
end)

t.case("CSV quotes what needs it and reads back the same", function()
  local rows = {}
  for i, s in ipairs(NASTY) do rows[i] = { a = s, b = i } end
  local records = csv.decode(csv.encode({ { key = "a" }, { key = "b" } }, rows))
  t.equal(#records, #NASTY + 1)
  for i, s in ipairs(NASTY) do t.equal(records[i + 1][1], s) end
  t.equal(csv.encode({ { key = "a" } }, { { a = 'x,"y"' } }), 'a\r\n"x,""y"""\r\n')
end)

t.case("CSV names its units, leaves nil empty, and keeps numbers", function()
  local columns = { { key = "name" }, { key = "rate", unit = "MB/s" },
                    { key = "lat_ns", unit = "ns" }, { key = "share", unit = "%" } }
  local out = csv.encode(columns, { { name = "a", rate = 0.1, lat_ns = math.maxinteger },
                                    { name = "b", share = 0 / 0 } })
  t.equal(out, "name,rate_MB_per_s,lat_ns,share_percent\r\n"
    .. "a,0.1,9223372036854775807,\r\nb,,,\r\n")
  local rows, names = csv.rows(out)
  t.same(names, { "name", "rate_MB_per_s", "lat_ns", "share_percent" })
  t.same(rows, { { name = "a", rate_MB_per_s = 0.1, lat_ns = math.maxinteger }, { name = "b" } })
end)

t.case("CSV of other programs is read: LF, no last newline, quotes within", function()
  t.same(csv.decode('a,b\n1,"x\ny"\n,'), { { "a", "b" }, { "1", "x\ny" }, { "", "" } })
  local records, message = csv.decode('a\n"open')
  t.equal(records, nil)
  t.contains(message, "the quote at byte 3 has no end")
  records, message = csv.decode('"a"b')
  t.equal(records, nil)
  t.contains(message, "byte 4 follows a quoted field")
  t.same(csv.rows("x\n1e3\n0x10\n-2\n1.2.3\n"),
    { { x = 1000.0 }, { x = "0x10" }, { x = -2 }, { x = "1.2.3" } })
end)

t.case("a text table is aligned, with units and without trailing spaces", function()
  local out = text.table({
    { key = "name", title = "case" }, { key = "iops", unit = "1/s" }, { text = "|" },
    { key = "mbps", title = "rate", unit = "MB/s" }, { key = "note" },
  }, {
    { name = "first", iops = 1234567, mbps = 3859.9, note = "x" },
    { name = "b", iops = 4096, mbps = 70.0 },
    { name = "é\n", mbps = 0 / 0, note = true },
  })
  t.equal(out, table.concat({
    "case   iops (1/s)  |  rate (MB/s)  note",
    "first   1,234,567  |       3859.9  x",
    "b            4096  |         70.0  -",
    "é\\n             -  |            -  yes",
    "" }, "\n"))
end)

t.case("floats of a column share their decimals", function()
  local function column(...)
    local rows = {}
    for i, v in ipairs { ... } do rows[i] = { x = v } end
    return (text.table({ { key = "x" } }, rows):gsub("\n", ";"))
  end
  t.equal(column(0.5, 12.25), "    x; 0.50;12.25;")
  t.equal(column(12.0, 14.0), " x;12;14;")
  t.equal(column(123456.789, 0.001), "      x;123,457;      0;")
  t.equal(column(0.00012345678), "         x;0.00012346;")
end)

t.case("formats, halves and functions are honoured", function()
  local out = text.table({
    { key = "x", format = "%.2f" }, { key = "y", plus_minus = "h" },
    { key = "z", format = function(v) return v .. "!" end },
  }, { { x = 1, y = 10.5, h = 0.25, z = 3 }, { y = 9.0 } })
  t.equal(out, "   x             y   z\n1.00  10.50 ± 0.25  3!\n   -          9.00   -\n")
end)

t.case("a table of no rows is its header", function()
  t.equal(text.table({ { key = "a" }, { key = "b" } }, {}), "a  b\n")
end)

-- A locale with a decimal comma, made here: few machines have one installed.
local LOCALE = [[
  assert(os.setlocale("de_DE.UTF-8") and ("%.1f"):format(0.5) == "0,5")
  local csv, json = require "iolua.report.csv", require "iolua.report.json"
  local text, units = require "iolua.report.text", require "iolua.units"
  print(json.encode { 0.5, 1e300, 12.0 }, json.decode("[0.25]")[1] == 0.25)
  print((csv.encode({ { key = "a" } }, { { a = 0.5 } }):gsub("%s+", " ")))
  print(csv.rows("a\n0.5\n")[1].a == 0.5)
  print((text.table({ { key = "a" }, { key = "b", format = "%.2f" } },
    { { a = 1234.5, b = 0.5 } }):gsub("%s+", " ")))
  print(units.format_bytes(1536), units.format_rate(70500000), units.ns("1.5s"))
  print(require("iolua.stats").summary({ 10, 12, 14 }).sd == 2)
]]

t.case("a locale with a decimal comma changes no number", function()
  local folder = t.run("mktemp -d"):match("%S+")
  local output, status = t.run(("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8"):format(folder))
  local result
  if status == 0 then
    local file = assert(io.open(folder .. "/script.lua", "w"))
    file:write(LOCALE)
    file:close()
    result = t.run(("LC_ALL= LOCPATH=%s lua5.4 %s/script.lua"):format(folder, folder))
  end
  os.execute("rm -r " .. folder)
  if not result then t.skip("localedef: " .. output:gsub("%s+", " ")) end
  t.equal(result, table.concat({ "[0.5,1e+300,12.0]\ttrue", "a 0.5 ", "true",
    " a b 1234.5 0.50 ", "1.5 KiB\t70.5 MB/s\t1500000000", "true", "" }, "\n"))
end)

t.done()
