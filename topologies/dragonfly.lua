-- A dragonfly: routers fully connected inside a group, groups fully connected by global links.
-- Balanced at a = 2p = 2h (routers per group a, nodes per router p, global links per router h), which
-- gives a*h + 1 groups at most. Traffic of all devices at once that leaves the group shares h links
-- where it entered by p nodes: oversubscription p/h; inside the group, on the direct path alone, a
-- router's p nodes spread over a - 1 local links.
local p = param("nodes_per_router", 4, 1, 64)
local a = param("routers_per_group", 8, 2, 128)
local h = param("global_links_per_router", 4, 1, 64)
local groups = param("groups", 9, 2, 4096)
if groups > a * h + 1 then
  error(("%d groups need more than the %d global links of a group"):format(groups, a * h))
end
local link = "400Gb/s"
local box = node { fanout = 8, bandwidth = "450GB/s", latency = "1us" }
local router = level { name = "router", bandwidth = link, latency = "3us", box:times(p) }
local group = level {
  name = "group", kind = "fully-connected", bandwidth = link, latency = "4us",
  oversubscription = math.max(1, p / (a - 1)),
  router:times(a),
}
return cluster {
  name = ("Dragonfly of %d groups"):format(groups),
  device = "h100-sxm",
  source = "Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology (ISCA 2008)",
  level {
    name = "system", kind = "fully-connected", bandwidth = link, latency = "7us",
    oversubscription = math.max(1, p / h, p / (a - 1)),
    group:times(groups),
  },
}
