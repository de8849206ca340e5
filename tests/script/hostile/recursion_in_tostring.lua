-- expect: C stack overflow
local t = {}
setmetatable(t, {__tostring = function(self) return tostring(self) end})
print(t)
