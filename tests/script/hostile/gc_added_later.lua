-- expect: ok
local mt = {}
for i = 1, 1000 do setmetatable({}, mt) end
mt.__gc = function() while true do end end
local t = {}
for i = 1, 100000 do t = {t = {}} end
