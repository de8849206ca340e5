-- expect: the table functions take only tables without a metatable
table.insert(setmetatable({}, {__len = function() return 1 << 40 end}), 1, 0)
