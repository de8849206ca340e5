-- Lesson 1: tensor parallelism stays inside the node.
-- Run: nest lua scripts/lessons/1-tensor-parallelism.lua [PATH=VALUE …]
local base = {
  model = "llama3-70b", cluster = "h100-spine-leaf",
  pin = {
    tp = 8, pp = 8, cp = 1, ep = 1, etp = 1, zero = 1, virtual_stages = 1, micro_batch = 1,
    recompute = "full", order = "tp-cp-dp-pp",
  },
}
nest.lesson {
  title = "Lesson 1: why tensor parallelism stays inside the node",
  text = "Tensor parallelism cuts every matrix, and pays for it with collectives of the whole "
    .. "activation, four per layer and microbatch, forward and backward. Their size does not "
    .. "shrink when tp grows; the work between them does. So each doubling of tp makes the "
    .. "communication's share of the step larger, even on NVLink.",
  scenario = base,
  show = function(s)
    local rows = {}
    for _, tp in ipairs {1, 2, 4, 8, 16, 32} do
      local a = s:eval {tp = tp}
      if a then
        rows[#rows + 1] = {
          tp = tp, dp = a.plan.dp, step = a.step_time_s, talk = a.breakdown_s.tp,
          share = ("%.0f%%"):format(100 * a.breakdown_s.tp / a.step_time_s),
        }
      end
    end
    nest.table(rows, {"tp", "dp", {"step", "step, s"}, {"talk", "tp collectives, s"}, "share"})
  end,
  try = "make the node no faster than the network between nodes: node.bandwidth=50GB/s",
  question = "by how much do the collectives of tp = 8 grow, and is tp = 8 still worth having?",
  solution = {"node.bandwidth=50GB/s"},
  check = function(_, a)
    local before = nest.scenario(base):eval().breakdown_s.tp
    local times = a.breakdown_s.tp / before
    if times < 3 then
      return false, "the node's links are still fast"
    end
    return true, ("the collectives take %.1f times as long: what NVLink is for"):format(times)
  end,
}
