-- expect: instructions
-- A global that is looked for without end.
setmetatable(_G, {__index = function() while true do end end})
local x = nowhere
