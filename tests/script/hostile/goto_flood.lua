-- expect: the script ran longer than its 1.0 seconds
local parts = {}
for i = 1, 20000 do parts[i] = "::a" .. i .. "::" end
local f = load(table.concat(parts))
while true do pcall(f) load(table.concat(parts)) end
