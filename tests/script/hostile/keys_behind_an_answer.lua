-- expect: no list
-- The same where every value comes from a function of the library.
local t, make = {}, {string.upper, string.lower, string.reverse}
local text = ("x"):rep(2000)
for i = 1, 140000 do
  t[i + 0.25] = #make[i % 3 + 1](text)
end
