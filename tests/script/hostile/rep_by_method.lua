-- expect: resulting string too large
local s = ("abc"):rep(1 << 50, "-")
