-- expect: xxxxxxxx
-- A message larger than what keeps it.
local function fail()
  error(("x"):rep(6 << 20))
end
fail()
