-- expect: instructions
-- Tail calls need no stack.
local function even(n)
  return even(n + 1)
end
even(0)
