-- expect: attempt to index a string value (local 'mt')
local mt = getmetatable("")
mt.__index = nil
