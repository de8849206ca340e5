-- expect: '__newindex' chain too long
-- A table that passes writes on to itself.
local t = {}
setmetatable(t, {__newindex = t})
t.x = 1
