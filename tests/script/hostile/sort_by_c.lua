-- expect: the script ran longer than its 1.0 seconds
local a = ("x"):rep(2000000) .. "a"
local b = ("x"):rep(2000000) .. "b"
local t = {}
for i = 1, 200000 do t[i] = i % 2 == 0 and a or b end
table.sort(t)
