-- expect: attempt to call a table value
-- A __call that the metatable gets afterwards.
local t, meta = {}, {}
setmetatable(t, meta)
meta.__call = t
t()
