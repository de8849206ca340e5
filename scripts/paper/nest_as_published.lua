-- The cost arithmetic of NEST's public solver (scai-tech/Nest), written down once more and searched
-- exactly: every contiguous split, pp, dp and tp of one of its input files, replica 0, packed.
--
-- Run: nest lua scripts/paper/nest_as_published.lua INPUT.json [DEVICES [UNIT]]
--   DEVICES  one of the counts in the file (its own if left out)
--   UNIT     how many of the file's time units a second of network is: 1 adds seconds to
--            milliseconds as the published solver does; 1000 repairs it
local input = nest.read(arg[1])
local devices = tonumber(arg[2] or input.maxDevices)
local unit = tonumber(arg[3] or 1)
local fanouts = input.devices_per_level
if devices ~= input.maxDevices then
  fanouts = input.about.devices_per_level_by_maxDevices[tostring(devices)]
end

local capacity, bandwidth, capped, latency = {}, {}, {}, {}
for l, fanout in ipairs(fanouts) do
  capacity[l] = fanout * (capacity[l - 1] or 1)
  bandwidth[l] = input.bws[l]
  capped[l] = math.min(bandwidth[l], capped[l - 1] or math.huge)
  latency[l] = input.latency_per_level[l]
end

local function level_of(p, q)
  for l = 1, #capacity do
    if p // capacity[l] == q // capacity[l] then
      return l
    end
  end
  error(("devices %d and %d meet nowhere"):format(p, q))
end

-- One boundary tensor; above the innermost level it goes up and down.
local function transfer(bytes, l)
  return unit * (l > 1 and 2 or 1) * (bytes / capped[l] + latency[l])
end

-- Gradient sync of the first stage over dp replicas that lie g devices apart.
local function sync(bytes, dp, g)
  if dp == 1 then
    return 0
  end
  local time, low = 0, 0
  for i = 0, math.floor(math.log(dp, 2) + 1e-9) - 1 do
    time = time + latency[1] + bytes / (2 ^ i * bandwidth[1])
  end
  for l = 2, level_of(0, (dp - 1) * g) do
    time = time + 2 * (latency[l] + bytes / bandwidth[l]) + low
    low = low + time
  end
  return unit * time
end

local function sums(list, key)
  local sum = {[0] = 0}
  for i, node in ipairs(list) do
    sum[i] = sum[i - 1] + node[key]
  end
  return sum
end

local function search(tp, best)
  local nodes = input.nodes[tp]
  table.sort(nodes, function(a, b) return a.id < b.id end)
  local into, out = {}, {} -- edges by the layer that receives, that sends
  for i = 1, #nodes do
    into[i], out[i] = {}, {}
  end
  for _, e in ipairs(input.edges[tp]) do
    local from, to = e.sourceId - nodes[1].id + 1, e.destId - nodes[1].id + 1
    table.insert(into[to], {layer = from, bytes = e.communicationCost})
    table.insert(out[from], {layer = to, bytes = e.communicationCost})
  end
  local n = #nodes
  local bw = sums(nodes, "optimalLatencyBw")
  local weights, kept = sums(nodes, "parameterSize"), sums(nodes, "activationSize")
  local width = tonumber(tp) * input.ep_degree * input.cp_degree
  local state = input.optimizerAlgorithm == "Adam" and 8 or 2 -- times the bytes of the weights
  local recompute = input.activationRecomputation

  -- Bytes that layer k exchanges with layers outside of i…j.
  local function outside(edges, i, j)
    local bytes = 0
    for _, e in ipairs(edges) do
      if e.layer < i or e.layer > j then
        bytes = bytes + e.bytes
      end
    end
    return bytes
  end

  -- A stage works through its layers in order; each waits for what comes from outside to it, and
  -- only the first (or one whose tensor arrives later) waits in vain.
  local function pass(edges, first, last, step, i, j, level, key)
    local time = 0
    for k = first, last, step do
      local bytes = outside(edges[k], i, j)
      if level and bytes > 0 then
        time = math.max(time, transfer(bytes, level))
      end
      time = time + nodes[k][key]
    end
    return time
  end

  -- Layers i…j as the stage at position s from the end; first: no stage upstream.
  local function load(i, j, s, first)
    local p, a = weights[j] - weights[i - 1], kept[j] - kept[i - 1]
    local entering = 0
    for k = i, j do
      entering = entering + outside(into[k], i, n)
    end
    if state * p + a + (s - 1) * (recompute and entering or a) > input.maxMemoryPerDevice then
      return math.huge
    end
    local up = not first and level_of((s - 1) * width, s * width) or nil
    local down = s > 1 and level_of((s - 2) * width, (s - 1) * width) or nil
    local forward = pass(into, i, j, 1, i, j, up, "optimalLatencyFw")
    if recompute and s > 1 then
      local backward, leaving = bw[j] - bw[i - 1], 0
      for k = i, j do
        leaving = leaving + outside(out[k], 1, j)
      end
      return forward + math.max(backward, transfer(leaving, down)) + backward
    end
    return forward + pass(out, j, i, -1, i, j, down, "optimalLatencyBw")
  end

  -- least[i]: the smallest largest load of layers i…n in s stages, with a stage upstream.
  local least = {[n + 1] = 0}
  for s = 1, math.min(n, devices // width) do
    for j = 1, n do
      local rest = least[j + 1]
      if rest and rest < math.huge then
        local own = load(1, j, s, true)
        local slowest = math.max(own, rest)
        for dp = 1, slowest < math.huge and devices // (s * width) or 0 do
          local rounds = -(-input.mbsInBatch // dp) + s - 1
          local floor = slowest * rounds
          if floor < best.time then
            local time = floor + sync(weights[j], dp, s * width)
            if time < best.time then
              best.time, best.tp, best.pp, best.dp, best.first = time, tonumber(tp), s, dp, j
            end
          end
        end
      end
    end
    local longer = {}
    for i = 1, n do
      local value = math.huge
      for j = i, n do
        local rest = least[j + 1]
        if rest and rest < value and s * width < devices then
          value = math.min(value, math.max(rest, load(i, j, s, false)))
        end
      end
      longer[i] = value
    end
    least = longer
  end
end

local best = {time = math.huge}
for tp in pairs(input.nodes) do
  search(tp, best)
end
print(("%.9g ms"):format(best.time))
print(("tp %d, pp %d, dp %d, first stage of %d layers"):format(best.tp, best.pp, best.dp, best.first))
