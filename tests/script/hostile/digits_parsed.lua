-- expect: seconds
-- One call parses a million digits.
local digits = ("9"):rep(1 << 20)
while true do
  local number = tonumber(digits, 36)
end
