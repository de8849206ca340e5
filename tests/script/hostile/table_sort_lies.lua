-- expect: the table functions take only tables without a metatable
table.sort(setmetatable({}, {__len = function() return 1 << 30 end, __index = function() return 1 end}))
