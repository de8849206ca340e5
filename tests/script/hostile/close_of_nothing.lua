-- expect: non-closable
-- A variable that cannot be closed.
local function open()
  local x <close> = {}
end
open()
