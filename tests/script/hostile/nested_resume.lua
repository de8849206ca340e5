-- expect: C stack overflow
local function deeper() return coroutine.wrap(deeper)() end
deeper()
