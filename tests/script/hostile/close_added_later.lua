-- expect: variable 'x' got a non-closable value
local mt = {}
local t = setmetatable({}, mt)
mt.__close = function() while true do end end
local x <close> = t
