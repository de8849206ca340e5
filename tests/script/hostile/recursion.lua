-- expect: the script needed more than its 16 MiB
local function down(n) return 1 + down(n + 1) end
down(1)
