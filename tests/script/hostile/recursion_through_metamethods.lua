-- expect: C stack overflow
local mt = {}
mt.__index = function(t, k) return t[k + 1] end
local x = setmetatable({}, mt)[1]
