-- expect: outside a coroutine
-- The host is nobody to yield to.
local function give()
  coroutine.yield(1)
end
give()
