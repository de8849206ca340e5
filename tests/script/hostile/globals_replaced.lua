-- expect: ok
local keep = pairs
_G.pairs = nil
string.rep = nil
_G.setmetatable = nil
assert(("x").rep == nil)
assert(keep)
