-- Lint rules of `make lint`: luacheck lua scenarios tests.
std = "lua54"
max_line_length = 120
-- A method need not use self, nor a callback all it is given.
self = false
unused_args = false
-- not (x <= y) is not x > y where one is NaN, and that is meant.
-- A <close> variable is there for its end: this luacheck calls it unused (211).
-- One set to nil lets the collector have what it held (311).
ignore = { "581", "211", "311" }
