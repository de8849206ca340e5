-- expect: the script printed more than its 65536 bytes
while true do pcall(print, ("x"):rep(1000)) end
