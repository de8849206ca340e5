-- expect: MiB
-- A function that calls one that calls one, a million deep, made one by one.
local f = function() return 1 end
for i = 1, 400000 do
  local g = f
  f = function() return g() + 1 end
end
f()
