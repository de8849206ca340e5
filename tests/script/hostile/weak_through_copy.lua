-- expect: weak tables are not available
-- A mode that another table's metatable would lend.
local lender = {__mode = "k"}
local t = setmetatable({}, {__index = lender})
setmetatable({}, setmetatable({}, {__index = lender}))
setmetatable(t, lender)
