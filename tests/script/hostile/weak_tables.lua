-- expect: a metatable may have no __mode: weak tables are not available
setmetatable({}, {__mode = "k"})
