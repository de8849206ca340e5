-- expect: the script ran longer than its 20000000 instructions
local f = load("while true do end")
while true do pcall(f) end
