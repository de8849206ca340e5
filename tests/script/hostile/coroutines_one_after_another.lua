-- expect: the script ran longer than its 20000000 instructions
while true do
  coroutine.resume(coroutine.create(function() while true do end end))
end
