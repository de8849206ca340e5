-- Two data centers joined by one long link. Light in fibre takes 5 us a kilometre; the link's
-- capacity is shared by every device of a site.
local km = param("distance_km", 50, 1, 10000)
local wan = param("wan_bandwidth", "25.6Tb/s", "100Gb/s", "1000Tb/s")
local racks = param("racks_per_site", 64, 1, 1024)
local nic = 50e9
local box = node { fanout = 8, bandwidth = "450GB/s", latency = "1us" }
local rack = level { name = "rack", bandwidth = nic, latency = "4us", box:times(4) }
local site = level { name = "site", bandwidth = nic, latency = "6us", rack:times(racks) }
return cluster {
  name = ("Two data centers of %d, %g km apart"):format(racks * 32, km),
  device = "h100-sxm",
  level {
    name = "wan", bandwidth = nic, latency = 10e-6 + 5e-6 * km,
    oversubscription = math.max(1, racks * 32 * nic / wan),
    site:times(2),
  },
}
