-- expect: unfinished long string
-- A bracket that nothing closes.
local chunk, why = load("return [" .. ("="):rep(200000) .. "[x")
error(why)
