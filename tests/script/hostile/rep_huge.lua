-- expect: resulting string too large
local s = string.rep("x", 1000000000)
