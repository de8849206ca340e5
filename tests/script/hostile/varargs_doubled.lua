-- expect: too many results to unpack
-- Arguments that double at each call.
local function spread(...)
  local packed = table.pack(...)
  table.move(packed, 1, packed.n, packed.n + 1)
  return spread(table.unpack(packed, 1, 2 * packed.n))
end
spread(1, 2)
