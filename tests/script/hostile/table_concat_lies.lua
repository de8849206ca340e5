-- expect: the table functions take only tables without a metatable
table.concat(setmetatable({}, {__len = function() return 1 << 40 end, __index = function() return "" end}))
