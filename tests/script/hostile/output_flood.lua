-- expect: the script printed more than its 65536 bytes
while true do print(("x"):rep(1000)) end
