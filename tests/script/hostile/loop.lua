-- expect: the script ran longer than its 20000000 instructions
while true do
end
