-- expect: the script needed more than its 16 MiB
local t = {}
for i = 1, 1000000 do t[i] = i end
local function f(...) return select("#", ...) end
f(table.unpack(t))
