-- expect: deep
-- Names that fill a traceback.
local name = ("a"):rep(60000)
local chunk = load("local function " .. name .. "() error('deep') end " .. name .. "()")
local function caller() chunk() end
caller()
