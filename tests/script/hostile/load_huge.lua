-- expect: load takes at most 262144 bytes
load(("x = 1 "):rep(100000))
