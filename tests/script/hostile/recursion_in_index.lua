-- expect: '__index' chain too long; possible loop
local mt = {}
mt.__index = mt
setmetatable(mt, mt)
local x = setmetatable({}, mt).absent
