-- expect: a table of the script has more than 65536 keys that are no list
local t = {}
for i = 1, 65537 do t[i * (2 * 65536 - 1)] = true end
