-- A two-tier fat tree over boxes, each figure a knob. With the defaults it is the cluster of
-- tpuv4-fat-tree.yaml, bit for bit.
local box = node {
  name = "box", fanout = param("devices_per_box", 8, 1, 64),
  bandwidth = "900GB/s", latency = "1us",
}
local edge = level {
  name = "edge", bandwidth = param("edge_bandwidth", "100GB/s", "1GB/s", "1000GB/s"), latency = "4us",
  box:times(param("boxes_per_edge", 8, 1, 512)),
}
local core = level {
  name = "core", bandwidth = param("core_bandwidth", "100GB/s", "1GB/s", "1000GB/s"), latency = "6us",
  oversubscription = param("oversubscription", 1, 1, 32),
  edge:times(param("edges", 16, 1, 4096)),
}
return cluster {
  name = "TPU v4 fat tree, 1024",
  device = "tpu-v4",
  source = "arXiv 2603.06798 and its public solver inputs",
  core,
}
