-- Makes the tables in docs/measuring.md:
--   LUA_PATH="tests/?.lua;lua/?.lua;;" lua5.4 docs/measuring.lua
-- Prints them; with --write puts them into the page, between its two marks.
local simulate = require "simulate"

local COUNT, BLOCKS = 2000, 8

local function percent(share) return (("%.2f %%"):format(100 * share):gsub(",", ".")) end

local function tables()
  local lines = { ("%d seeded experiments of %d blocks for each row."):format(COUNT, BLOCKS), "",
    "| noise | no effect: declared different | A/A gate closed | true effect | found |",
    "|---|---:|---:|---:|---:|" }
  for _, noise in ipairs(simulate.NOISES) do
    local none = simulate.rates(noise, { blocks = BLOCKS, count = COUNT })
    local some = simulate.power(noise, { blocks = BLOCKS, count = COUNT })
    lines[#lines + 1] = ("| %s | %s | %s | %s | %s |"):format(noise.name, percent(none.declared),
      percent(none.gate), (("%.2f"):format(some.effect):gsub(",", ".")), percent(some.found))
  end
  return table.concat(lines, "\n") .. "\n"
end

local BEGIN, END = "<!-- tables: docs/measuring.lua -->\n", "<!-- end of tables -->\n"

local function put_in(path, text)
  local file = assert(io.open(path))
  local page = file:read("a")
  file:close()
  local _, from = page:find(BEGIN, 1, true)
  local to = assert(page:find(END, from, true))
  file = assert(io.open(path, "w"))
  file:write(page:sub(1, from), text, page:sub(to))
  file:close()
end

if arg and arg[0] and arg[0]:find("measuring%.lua$") then
  if arg[1] == "--write" then put_in("docs/measuring.md", tables())
  else io.write(tables()) end
end

return { tables = tables, BEGIN = BEGIN, END = END }
