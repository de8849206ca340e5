-- expect: the script needed more than its 16 MiB
local s = ("a"):rep(1000)
while true do s = s:gsub("a", "aa") end
