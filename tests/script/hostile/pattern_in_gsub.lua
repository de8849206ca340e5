-- expect: this pattern could take too long on a text of 5000 bytes
local s = ("a"):rep(5000)
s:gsub("a*a*a*b", "")
