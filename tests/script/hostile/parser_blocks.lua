-- expect: overflow
-- Blocks inside of blocks.
local chunk, why = load(("do "):rep(30000) .. ("end "):rep(30000))
error(why)
