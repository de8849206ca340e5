-- expect: this pattern could take too long on a text of 200000 bytes
local s = ("("):rep(200000)
s:find("%b()")
