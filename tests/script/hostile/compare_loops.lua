-- expect: instructions
-- A comparison that never comes back, in a condition.
local t = setmetatable({}, {__lt = function() while true do end end})
if t < t then
  t = nil
end
