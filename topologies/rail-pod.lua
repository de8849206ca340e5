-- A rail-optimised pod: GPU i of every node hangs on leaf i of its rail group, so devices of equal
-- local rank are one hop apart, and others meet at the spine or inside the node.
local nodes = param("nodes_per_rail_group", 32, 2, 256)
local groups = param("rail_groups", 4, 1, 64)
local spine = param("spine_oversubscription", 1, 1, 32)
local box = node { fanout = 8, bandwidth = "450GB/s", latency = "1us" }
local rails = level {
  name = "rail", kind = "rail", bandwidth = "400Gb/s", latency = "4us",
  box:times(nodes),
}
return cluster {
  name = ("Rail-optimised pod, %d"):format(8 * nodes * groups),
  device = "h100-sxm",
  source = "NVIDIA DGX SuperPOD reference architecture, H100 (rail-optimised compute fabric)",
  level {
    name = "spine", bandwidth = "400Gb/s", latency = "6us", oversubscription = spine,
    rails:times(groups),
  },
}
