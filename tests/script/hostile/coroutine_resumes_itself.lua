-- expect: non-suspended
-- A coroutine that resumes the one that runs it.
local outer = coroutine.running()
local inner = coroutine.wrap(function()
  local good, why = coroutine.resume(outer)
  error(why)
end)
inner()
