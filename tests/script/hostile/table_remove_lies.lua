-- expect: the table functions take only tables without a metatable
table.remove(setmetatable({}, {__len = function() return 1 << 40 end}), 1)
