-- expect: the script ran longer than its 20000000 instructions
while true do
  xpcall(error, function() while true do end end)
end
