-- An H100 spine-leaf cluster in which nodes and single GPUs have failed at random. The same seed
-- gives the same failures; seed 0 is the whole cluster.
local seed = param("seed", 1, 0, 1000000)
local dead_nodes = param("dead_nodes_percent", 3.0, 0, 90)
local dead_gpus = param("nodes_with_a_dead_gpu_percent", 5.0, 0, 90)
local racks = param("racks", 32, 1, 4096)
math.randomseed(seed)
local function box(gpus)
  return node { fanout = gpus, bandwidth = "450GB/s", latency = "1us" }
end
local full, hurt = box(8), box(7)
local function chance(percent)
  return seed > 0 and 100 * math.random() < percent
end
local spine = { name = "spine", bandwidth = "400Gb/s", latency = "6us", oversubscription = 4 }
for _ = 1, racks do
  local rack = { name = "rack", bandwidth = "400Gb/s", latency = "4us" }
  for _ = 1, 4 do
    if not chance(dead_nodes) then
      rack[#rack + 1] = chance(dead_gpus) and hurt or full
    end
  end
  if #rack > 0 then
    spine[#spine + 1] = level(rack)
  end
end
return cluster {
  name = ("H100 spine-leaf with failures, seed %d"):format(seed),
  device = "h100-sxm",
  level(spine),
}
