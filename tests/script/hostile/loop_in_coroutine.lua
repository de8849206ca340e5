-- expect: the script ran longer than its 20000000 instructions
local spin = coroutine.wrap(function() while true do end end)
spin()
