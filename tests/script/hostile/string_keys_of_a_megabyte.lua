-- expect: MiB
-- Long strings as keys.
local t = {}
for i = 1, 1000 do t[("x"):rep(1 << 20) .. i] = i end
