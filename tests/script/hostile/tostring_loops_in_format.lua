-- expect: the script ran longer than its 20000000 instructions
local t = setmetatable({}, {__tostring = function() while true do end end})
string.format("%s", t)
