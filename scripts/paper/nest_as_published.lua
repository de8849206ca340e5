-- The cost arithmetic of NEST's public solver (scai-tech/Nest) as overrides of ours: the exact
-- search over every contiguous split, pp, dp and tp of one of its input files, replica 0, packed.
--
-- Run: nest lua scripts/paper/nest_as_published.lua INPUT.json [DEVICES [UNIT]]
--   DEVICES  one of the counts in the file (its own if left out)
--   UNIT     how many of the file's time units a second of network is: 1 adds seconds to
--            milliseconds as the published solver does; 1000 repairs it; without it, both
local input = nest.read(arg[1])
local devices = math.tointeger(tonumber(arg[2] or input.maxDevices))
local fanouts = input.devices_per_level
if devices ~= input.maxDevices then
  fanouts = input.about.devices_per_level_by_maxDevices[tostring(devices)]
end
local recompute = input.activationRecomputation

local capacity, capped = {}, {}
for l, fanout in ipairs(fanouts) do
  capacity[l] = fanout * (capacity[l - 1] or 1)
  capped[l] = math.min(input.bws[l], capped[l - 1] or math.huge)
end

-- The innermost level that joins devices p and q.
local function level_of(p, q)
  for l = 1, #capacity do
    if p // capacity[l] == q // capacity[l] then
      return l
    end
  end
  error(("devices %d and %d meet nowhere"):format(p, q))
end

-- Gradient sync over dp replicas that lie g devices apart: `fixed + each * bytes`, seconds.
local function sync(dp, g)
  local fixed, each, low_fixed, low_each = 0, 0, 0, 0
  for i = 0, math.floor(math.log(dp, 2) + 1e-9) - 1 do
    fixed = fixed + input.latency_per_level[1]
    each = each + 1 / (2 ^ i * input.bws[1])
  end
  for l = 2, level_of(0, (dp - 1) * g) do
    fixed = fixed + 2 * input.latency_per_level[l] + low_fixed
    each = each + 2 / input.bws[l] + low_each
    low_fixed, low_each = low_fixed + fixed, low_each + each
  end
  return fixed, each
end

-- The layers of one tp width, equal neighbours together, with the bytes that each receives from
-- others and sends to others.
local function layers_of(tp)
  local nodes = input.nodes[tp]
  table.sort(nodes, function(a, b) return a.id < b.id end)
  local into, out = {}, {}
  for _, e in ipairs(input.edges[tp]) do
    into[e.destId] = (into[e.destId] or 0) + e.communicationCost
    out[e.sourceId] = (out[e.sourceId] or 0) + e.communicationCost
  end
  local groups = {}
  for i, node in ipairs(nodes) do
    local last = groups[#groups]
    local layer = {fw = node.optimalLatencyFw, bw = node.optimalLatencyBw,
                   weights = node.parameterSize, kept = node.activationSize,
                   into = into[node.id] or 0, out = out[node.id] or (last and last.out or 0)}
    local equal = last ~= nil
    for key, value in pairs(layer) do
      equal = equal and last[key] == value
    end
    if equal then
      last.times = last.times + 1
    else
      layer.name, layer.times = "from " .. i - 1, 1
      groups[#groups + 1] = layer
    end
  end
  return groups
end

-- Every replica gets a fabric of its own, which makes it look like replica 0; `step` below sees to
-- it that together they need no more devices than there are.
local function scenario(groups, width)
  local levels = {}
  for l, fanout in ipairs(fanouts) do
    levels[l] = {name = "level " .. l - 1, fanout = fanout, bandwidth = input.bws[l],
                 latency = input.latency_per_level[l]}
  end
  levels[#levels + 1] = {name = "replicas", fanout = devices, bandwidth = 1e9, latency = 0}
  local profile = {}
  for i, g in ipairs(groups) do
    profile[i] = {name = g.name, times = g.times, measured = {
      {tp = width, fw = g.fw * 1e-3, bw = g.bw * 1e-3, weights = g.weights, activations = g.kept,
       boundary = g.out}}}
  end
  return nest.scenario {
    model = {name = "as published", collectives = "included", profile = profile},
    cluster = {name = "as published", device = "h100-sxm", levels = levels},
    train = {global_batch = math.tointeger(input.mbsInBatch), optimizer = "sgd", grad_bytes = 2},
    limits = {memory = input.maxMemoryPerDevice, span = devices, packed = true},
    overlap = {dp = 0},
    allow = {"ragged_batch"},
    pin = {tp = width, micro_batch = 1, cp = 1, ep = 1, zero = 0, virtual_stages = 1,
           order = "tp-cp-pp-dp", recompute = recompute and "full" or "none"},
  }
end

-- width: devices of a stage. unit: as UNIT above. Times of the file are milliseconds, those of overrides are seconds.
local function overrides(groups, width, unit)
  local named = {}
  for _, g in ipairs(groups) do
    named[g.name] = g
  end
  local network = unit * 1e-3
  return {
    -- A boundary tensor goes up and down above the innermost level.
    transfer = function(message)
      local l = message.level + 1
      if not message.before or not capped[l] then
        return 0
      end
      local forward = message.direction == "forward"
      local bytes = forward and named[message.after].into or named[message.before].out
      return network * (l > 1 and 2 or 1) * (bytes / capped[l] + input.latency_per_level[l])
    end,
    -- Gradients by their bytes; `step` knows what a byte takes.
    collective = function(message)
      return message.bytes * 1e-12
    end,
    -- Weights and gradients of 2 bytes each, no optimizer state but Adam's; a stage's activations
    -- are live at once even when they are computed again.
    memory = function(layer)
      local g = named[layer.name]
      local adam = input.optimizerAlgorithm == "Adam"
      return {weights = g.weights, gradients = g.weights, optimizer = adam and 6 * g.weights or 0,
              activations = recompute and 0 or g.kept, resident = recompute and g.kept or 0,
              entering = recompute and g.into or 0, working = 0, gathered = 0, logits = 0}
    end,
    reserve = function()
      return {base = 0, pipeline = 0, buffers = 0}
    end,
    -- The recomputed forward is charged the time of the backward, and the incoming gradient hides
    -- behind it; the last stage recomputes nothing.
    load = function(stage)
      if recompute and not stage.last then
        return {{forward = 1, backward = 2, into = 1},
                {forward = 1, backward = 1, into = 1, out = 1}}
      end
      return {forward = 1, backward = 1, into = 1, out = 1}
    end,
    step = function(p)
      if p.stages * width * p.dp > devices then
        return false
      end
      local fixed, each = 0, 0
      if p.dp > 1 then
        fixed, each = sync(p.dp, p.stages * width)
      end
      return {bottleneck = p.microbatches + p.stages - 1, fill = 0, constant = network * fixed,
              sync = network * each * 1e12, update = 0, tails = "first"}
    end,
  }
end

local function solve(unit)
  local best
  local widths = {}
  for tp in pairs(input.nodes) do
    widths[#widths + 1] = math.tointeger(tonumber(tp))
  end
  table.sort(widths)
  for _, tp in ipairs(widths) do
    local groups = layers_of(tostring(tp))
    local width = tp * input.ep_degree * input.cp_degree
    local answer = scenario(groups, width):override(overrides(groups, width, unit)):solve()
    if answer and (not best or answer.step_time_s < best.step_time_s) then
      best = answer
      best.tp = tp
    end
  end
  return best
end

local function tell(best)
  local first = best.plan.stages[1]
  print(("%.10g ms"):format(best.step_time_s * 1e3))
  print(("tp %d, pp %d, dp %d, first stage of %d layers"):format(best.tp, best.plan.pp,
    best.plan.dp, first.last_layer - first.first_layer + 1))
end

tell(solve(tonumber(arg[3] or 1)))
if not arg[3] then
  print("with the network in milliseconds as well:")
  tell(solve(1000))
end
