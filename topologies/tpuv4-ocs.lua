-- A slice of a TPU v4 pod. The pod is 64 cubes of 4x4x4 chips; optical circuit switches join the
-- faces of any chosen cubes, so a slice of whole cubes is a torus of its own, with wrap-around links
-- in every dimension. 50 GB/s per link and direction, six links a chip.
local x = param("cubes_x", 2, 1, 4)
local y = param("cubes_y", 2, 1, 4)
local z = param("cubes_z", 4, 1, 16)
if x * y * z > 64 then
  error(("%d cubes are more than the 64 of a pod"):format(x * y * z))
end
return cluster {
  name = ("TPU v4 slice %dx%dx%d"):format(4 * x, 4 * y, 4 * z),
  device = "tpu-v4",
  source = "arXiv 2304.01433 (TPU v4: an optically reconfigurable supercomputer)",
  torus {
    name = "torus", shape = ("%dx%dx%d"):format(4 * x, 4 * y, 4 * z), wrap = true,
    bandwidth = "50GB/s", latency = "1us",
  },
}
