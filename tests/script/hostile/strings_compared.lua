-- expect: seconds
-- One instruction compares megabytes.
local a = ("x"):rep(3 << 20) .. "a"
local b = ("x"):rep(3 << 20) .. "b"
while true do
  local less = a < b
end
