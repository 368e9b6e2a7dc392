--- Text of any bytes in the formats that have rules about it.
local escape = {}

--- Valid UTF-8 without control characters: what is neither becomes U+FFFD, newlines and tabs
--- become `space` (default " ").
---@param text string
---@param space? string
---@return string
function escape.line(text, space)
  local parts, at = {}, 1
  text = tostring(text):gsub("\r\n", "\n")
  while at <= #text do
    local length, bad = utf8.len(text, at)
    local stop = length and #text or bad - 1
    parts[#parts + 1] = text:sub(at, stop)
    if not length then parts[#parts + 1] = "\u{FFFD}" end
    at = stop + (length and 1 or 2)
  end
  local whole = table.concat(parts):gsub("[\t\n\r]", space or " ")
  -- C1 controls and U+FFFE, U+FFFF have no place in XML either.
  return (whole:gsub("[%z\1-\31\127]", "\u{FFFD}"):gsub("\u{FFFE}", "\u{FFFD}")
    :gsub("\u{FFFF}", "\u{FFFD}"):gsub("\xC2[\x80-\x9F]", "\u{FFFD}")
    :gsub("\xED[\xA0-\xBF][\x80-\xBF]", "\u{FFFD}"))
end

local XML = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

--- For XML and HTML, in text and in attributes.
---@param text any
---@return string
function escape.xml(text) return (escape.line(tostring(text)):gsub("[&<>\"']", XML)) end

--- For a cell of a markdown table.
---@param text any
---@return string
function escape.markdown(text)
  return (escape.line(tostring(text), "\n"):gsub("[\\`*_|<>&%[%]#~]", function(c)
    return XML[c] and c ~= "'" and c ~= '"' and XML[c] or "\\" .. c
  end):gsub("\n", "<br>"))
end

--- A string of gnuplot. In single quotes nothing is expanded: no backquotes, no backslashes.
---@param text any
---@return string
function escape.gnuplot(text) return "'" .. escape.line(tostring(text)):gsub("'", "''") .. "'" end

--- A string of Grace, in Latin-1: what it has no sign for is "?". A backslash would begin one
--- of its escapes.
---@param text any
---@return string
function escape.grace(text)
  local latin = escape.line(tostring(text)):gsub(utf8.charpattern, function(c)
    local code = utf8.codepoint(c)
    return code < 128 and c or code >= 160 and code < 256 and string.char(code) or "?"
  end)
  return '"' .. latin:gsub("\\", "\\\\"):gsub('"', '\\"') .. '"'
end

return escape
