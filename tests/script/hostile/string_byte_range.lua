-- expect: slice too long
-- Every byte of a long string as a result of its own.
local text = ("x"):rep(4 << 20)
local first = text:byte(1, -1)
