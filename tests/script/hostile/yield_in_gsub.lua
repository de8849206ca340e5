-- expect: attempt to yield across a C-call boundary
-- A replacement that yields.
coroutine.wrap(function()
  local x = ("abc"):gsub(".", function(c) coroutine.yield(c) end)
end)()
