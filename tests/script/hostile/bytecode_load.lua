-- expect: attempt to load a binary chunk (mode is 't')
assert(load("\27Lua"))
