-- expect: '__index' chain too long
-- A table that inherits from itself.
local t = {}
setmetatable(t, {__index = t})
local x = t.missing
