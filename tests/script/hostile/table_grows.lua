-- expect: the script needed more than its 16 MiB
local t = {}
for i = 1, 1e9 do t[i] = {i} end
