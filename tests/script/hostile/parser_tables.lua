-- expect: overflow
-- Tables inside of tables.
local chunk, why = load("return " .. ("{"):rep(100000) .. ("}"):rep(100000))
error(why)
