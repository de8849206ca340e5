-- expect: the script needed more than its 16 MiB
local s = "x"
while true do s = s .. s end
