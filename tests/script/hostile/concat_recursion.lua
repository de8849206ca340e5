-- expect: overflow
-- Concatenation that concatenates.
local t = setmetatable({}, {})
setmetatable(t, {__concat = function(a, b) return a .. b end})
local x = t .. t
