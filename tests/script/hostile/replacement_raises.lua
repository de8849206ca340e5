-- expect: no replacement
-- A table of replacements with a mind of its own.
local t = setmetatable({}, {__index = function() error("no replacement") end})
local x = ("abc"):gsub("%w", t)
