-- expect: __call must be a function
-- A table that is called by calling itself.
local t = {}
setmetatable(t, {__call = t})
t()
