--- bonnie's tests of many small files: create, stat, delete, in order and at random.
--
-- Names are the file's number in ten hexadecimal digits with 0 to 12 letters after it, or, at
-- random, before it. Folders "00000" and so on when there are several. The order of the random
-- tests is shuffled for each. What exists at any moment is in one folder, removed at the end.
local core = require "iolua.core"
local errand = require "iolua.workload.errand"

local names = {}

local LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

local function letters(generator)
  local list = {}
  for i = 1, generator:below(13) - 1 do
    local k = generator:below(#LETTERS)
    list[i] = LETTERS:sub(k, k)
  end
  return table.concat(list)
end

local function shuffle(list, generator)
  for i = #list, 2, -1 do
    local k = generator:below(i)
    list[i], list[k] = list[k], list[i]
  end
end

-- A file for each number: its folder, name and bytes.
local function make_list(o, generator, at_random)
  local list, f = {}, o.files
  for i = 0, f.count * 1024 - 1 do
    local extra = letters(generator)
    list[i + 1] = { folder = i * f.dirs // (f.count * 1024),
      name = at_random and extra .. ("%010x"):format(i) or ("%010x"):format(i) .. extra,
      bytes = f.max > f.min and f.min + generator:below(f.max - f.min + 1) - 1 or f.max }
  end
  return list
end

-- The list cut into runs of one folder each, in its order.
local function batches(list)
  local runs = {}
  for _, file in ipairs(list) do
    local run = runs[#runs]
    if not run or run.folder ~= file.folder then
      run = { folder = file.folder, names = {}, bytes = {}, some = false }
      runs[#runs + 1] = run
    end
    run.names[#run.names + 1], run.bytes[#run.bytes + 1] = file.name, file.bytes
    run.some = run.some or file.bytes > 0
  end
  return runs
end

local function folder_path(o, state, number)
  return o.files.dirs == 1 and state.folder or ("%s/%05d"):format(state.folder, number)
end

-- One test: every file of the list visited.
local function visit(o, state, list, what)
  local m = { seconds = 0, cpu_ns = 0, count = #list, max_ns = 0 }
  local runs = batches(list)
  for i, run in ipairs(runs) do
    local r, message, errno = errand.names { folder = folder_path(o, state, run.folder), what = what,
      names = run.names, bytes = run.some and run.bytes or nil, chunk = o.chunk, fsync = o.fsync,
      flush = i == #runs and what ~= "stat" }
    if not r then return nil, "bonnie: " .. message, errno end
    m.seconds = m.seconds + r.elapsed_ns / 1e9
    m.cpu_ns = m.cpu_ns + r.user_ns + r.system_ns
    m.max_ns = math.max(m.max_ns, r.lat:max() or 0)
  end
  return m
end

local function make_folder(path)
  return core.errand.folder(path)
end

-- The copy's folder, and those in it; told how to remove them.
local function prepare(o, state, copy)
  if state.folder then return true end
  local stat <close> = io.open("/proc/self/stat")
  local path = ("%s/iolua-bonnie.%d.%d"):format(state.dir, stat and stat:read("n") or 0, copy)
  local ok, message, errno = make_folder(path)
  if not ok then return nil, message, errno end
  state.folder = path
  state.remove = function() core.errand.remove_tree(path) end
  for i = 0, o.files.dirs > 1 and o.files.dirs - 1 or -1 do
    ok, message, errno = make_folder(folder_path(o, state, i))
    if not ok then return nil, message, errno end
  end
  return true
end

-- The folder goes with its files, so that the next test creates in a new one: filesystems
-- avoid inodes that were freed a moment ago, and would be slow in the old one.
local function remove_folder(state, m)
  local from = core.clock.now()
  state.remove()
  state.folder, state.remove = nil, nil
  m.seconds = m.seconds + (core.clock.now() - from) / 1e9
end

-- Sequential tests visit files as they were created; random ones in an order of their own each.
local function test(o, state, copy, kind, what)
  return function()
    local ok, message, errno = prepare(o, state, copy)
    if not ok then return nil, "bonnie: " .. message, errno end
    if what == "create" then state.list = make_list(o, state.generator, kind == "ran") end
    if kind == "ran" then shuffle(state.list, state.generator) end
    local m, why, code = visit(o, state, state.list, what)
    if m and what == "remove" then remove_folder(state, m) end
    return m, why, code
  end
end

--- The tests by name.
function names.tests(o, state, copy)
  local tests = {}
  for _, kind in ipairs { "seq", "ran" } do
    for short, what in pairs { create = "create", stat = "stat", delete = "remove" } do
      tests[kind .. "_" .. short] = test(o, state, copy, kind, what)
    end
  end
  return tests
end

return names
