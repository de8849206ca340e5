-- expect: the script ran longer than its 20000000 instructions
xpcall(function() while true do end end, function() while true do end end)
