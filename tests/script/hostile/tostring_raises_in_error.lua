-- expect: the script raised a table
error(setmetatable({}, {__tostring = function() error("again") end}))
