-- expect: invalid conversion
-- A field wider than any buffer.
local text = ("%0100000000d"):format(1)
