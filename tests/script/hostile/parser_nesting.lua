-- expect: '(load)'
local f, message = load(string.rep("(", 1000) .. "1" .. string.rep(")", 1000))
assert(not f)
error("'(load)'", 0)
