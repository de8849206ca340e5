-- expect: attempt to call a nil value (global 'escape')
local f = load("return escape()")
f()
