-- expect: instructions
-- And those up to infinity do not.
for i = 1, math.huge do
  local x = i
end
