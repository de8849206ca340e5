-- expect: too many local variables
-- More names than a function has registers.
local names = {}
for i = 1, 300 do names[i] = "local a" .. i end
local chunk, why = load(table.concat(names, "\n"))
error(why)
