-- expect: MiB
-- A short list with a long separator.
local list = {}
for i = 1, 1000 do list[i] = i end
local text = table.concat(list, ("x"):rep(1 << 20))
