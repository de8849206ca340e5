-- expect: ok
local t = setmetatable({}, {__index = {}})
getmetatable(t).__gc = function() while true do end end
rawset(getmetatable(t), "__gc", function() while true do end end)
t = nil
for i = 1, 100000 do t = {i} end
