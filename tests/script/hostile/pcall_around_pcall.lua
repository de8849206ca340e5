-- expect: the script ran longer than its 1.0 seconds
local function again() return pcall(again), pcall(again) end
while true do pcall(pcall, again) end
