-- expect: ok
local ok = xpcall(error, function() error('again') end)
assert(not ok)
