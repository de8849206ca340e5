-- expect: __call must be a function
-- The same with one more in between, and pcall around it.
local a, b = {}, {}
pcall(setmetatable, a, {__call = b})
setmetatable(b, {__call = a})
b()
