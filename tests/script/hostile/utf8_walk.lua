-- expect: instructions
-- Counting a long string's characters again and again is C.
local text = ("é"):rep(1000)
while true do
  local length = utf8.len(text)
  for position, code in utf8.codes("xyz") do length = code end
end
