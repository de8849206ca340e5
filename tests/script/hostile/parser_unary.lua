-- expect: overflow
-- Operators in front of operators.
local chunk, why = load("return " .. ("- "):rep(100000) .. "1")
error(why)
