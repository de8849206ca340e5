-- expect: a metatable may have no __gc: finalizers cannot be stopped
setmetatable({}, {__gc = function() while true do end end})
