-- expect: the script ran longer than its 20000000 instructions
while true do
  pcall(function() local t = {} for i = 1, 1e9 do t[i] = i end end)
end
