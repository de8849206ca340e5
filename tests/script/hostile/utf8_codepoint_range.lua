-- expect: slice too long
-- The same by code points.
local text = ("é"):rep(2 << 20)
local first = utf8.codepoint(text, 1, -1)
