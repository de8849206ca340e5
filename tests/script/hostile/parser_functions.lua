-- expect: overflow
-- Functions inside of functions.
local chunk, why = load(("function f() "):rep(10000) .. ("end "):rep(10000))
error(why)
