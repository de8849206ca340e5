-- expect: this pattern could take too long on a text of 20000 bytes
local s = ("a"):rep(20000)
s:find(".-.-.-.-b")
