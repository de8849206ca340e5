-- expect: ok
assert(string.rep("", 1 << 40) == "")
assert(("x"):rep(0) == "")
