-- Nodes whose GPUs reach every one of a few switch planes, as a graph: each plane is one switch, each
-- GPU has a NIC for every plane. One flow takes one plane; nest show says what levels cannot.
local nodes = param("nodes", 16, 2, 128)
local planes = param("planes", 2, 1, 8)
local nic = param("nic", "200Gb/s", "10Gb/s", "800Gb/s")
local g = graph { names = { "node", "fabric" } }
local plane = g:switch("plane", planes)
for n = 0, nodes - 1 do
  local gpus = g:device("node" .. n .. "-gpu", 8)
  g:link(gpus, g:switch("nvswitch" .. n), { bandwidth = "450GB/s", latency = "0.5us" })
  g:link(gpus, plane, { bandwidth = nic, latency = "2us" })
end
return cluster {
  name = ("%d nodes on %d planes"):format(nodes, planes),
  device = "h100-sxm",
  graph = g,
}
