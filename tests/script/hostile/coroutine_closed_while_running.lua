-- expect: cannot close a running coroutine
-- And one that closes itself.
local self
self = coroutine.create(function() coroutine.close(self) end)
local good, why = coroutine.resume(self)
error(why)
