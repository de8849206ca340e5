-- expect: the table functions take at most 10000000 elements
local t = {}
for i = 1, 17 do t[i] = true end
t[33] = true
for i = 5, 62 do t[1 << i] = true end
assert(#t > 1 << 40)
table.insert(t, 1, 0)
