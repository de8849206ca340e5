-- expect: no list
-- A table grows right behind a string buffer of the same size.
local t = {}
for i = 1, 65536 do
  t[i + 0.5] = i
end
local text = ("x"):rep(1 << 12)
t[#text:rep(1 << 8) + 0.5] = text:upper()
for i = 65537, 131073 do
  t[i + 0.5] = (text .. i % 2):reverse()
end
