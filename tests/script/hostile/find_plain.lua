-- expect: this pattern could take too long on a text of 4000001 bytes
local s = ("a"):rep(4000000) .. "c"
s:find(("a"):rep(2000000) .. "b", 1, true)
