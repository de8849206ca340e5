-- expect: a metatable may have no __close: closing variables cannot be stopped
local f = coroutine.wrap(function()
  local x <close> = setmetatable({}, {__close = function() while true do end end})
  while true do end
end)
f()
