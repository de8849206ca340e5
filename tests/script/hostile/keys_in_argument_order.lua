-- expect: no list
-- Keys arrive by rawset, behind a buffer that was just made for its value.
local t = {}
for i = 1, 200000 do
  rawset(t, -i, ("%q"):format(("y"):rep(1500)) == "" or i)
end
