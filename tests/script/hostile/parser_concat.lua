-- expect: overflow
-- Operators that group to the right.
local chunk, why = load("return " .. ("a.."):rep(60000) .. "a")
error(why)
