-- expect: attempt to yield across a C-call boundary
-- A comparison that yields out of the library.
local walk = coroutine.wrap(function()
  table.sort({3, 2, 1}, function(a, b) coroutine.yield() return a < b end)
end)
walk()
