-- expect: the script ran longer than its 1.0 seconds
local s = ("x"):rep(1000000)
while true do s:upper() end
