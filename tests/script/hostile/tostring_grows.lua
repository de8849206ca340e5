-- expect: MiB
-- Every value becomes a long text on its way into another.
local long = ("x"):rep(1 << 20)
local t = setmetatable({}, {__tostring = function() return long end})
local text = ("%s"):rep(40):format(t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t,
                                   t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t)
