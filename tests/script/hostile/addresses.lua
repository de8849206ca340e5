-- expect: ok
assert(tostring({}) == "table" and tostring(print) == "function")
assert(string.format("%s", {}) == "table")
assert(not pcall(string.format, "%p", {}))
