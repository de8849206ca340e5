-- expect: this pattern could take too long on a text of 100000 bytes
for x in (("a"):rep(100000)):gmatch(".-b") do end
