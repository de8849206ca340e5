-- expect: not there
-- A program that says it is another file.
local chunk = load("error('not there')", "@/etc/passwd")
chunk()
