-- Lesson 6: expert parallelism and its all-to-all.
-- Run: nest lua scripts/lessons/6-experts.lua [PATH=VALUE …]
nest.lesson {
  title = "Lesson 6: expert parallelism and all-to-all",
  text = "Of a mixture's experts every token uses a few. Expert parallelism (ep) puts different "
    .. "experts on different devices and sends each token to its own, twice per layer, by "
    .. "all-to-all. Expert tensor parallelism (etp) cuts each expert instead, and pushes the ep "
    .. "group apart: devices are numbered etp first, then ep. Inside a node the exchange is cheap; "
    .. "across racks it is not.",
  scenario = {
    model = "mixtral-8x7b", cluster = "h100-spine-leaf",
    pin = {
      tp = 4, pp = 4, cp = 1, ep = 8, etp = 4, zero = 1, virtual_stages = 1, micro_batch = 1,
      recompute = "full", order = "tp-cp-dp-pp",
    },
  },
  show = function(s)
    local rows = {}
    for _, pair in ipairs {{1, 4}, {2, 4}, {8, 4}, {8, 2}, {4, 1}, {8, 1}} do
      local a = s:eval {ep = pair[1], etp = pair[2]}
      if a then
        rows[#rows + 1] = {
          ep = pair[1], etp = pair[2], span = pair[1] * pair[2], step = a.step_time_s,
          talk = a.breakdown_s.ep, weights = nest.format(a.memory[1].weights, "bytes"),
        }
      end
    end
    nest.table(rows, {"ep", "etp", {"span", "devices"}, {"step", "step, s"}, {"talk", "ep, s"},
      {"weights", "weights a device"}})
  end,
  try = "keep the exchange inside the node of 8: choose ep and etp",
  question = "ep = 8, etp = 1 and ep = 2, etp = 4 use 8 devices each; why is one cheaper?",
  solution = {"ep=8", "etp=1"},
  check = function(_, a)
    if a.plan.ep < 2 then
      return false, "without expert parallelism every device holds every expert"
    end
    if a.plan.ep * a.plan.etp > 8 then
      return false, ("ep %d times etp %d leaves the node"):format(a.plan.ep, a.plan.etp)
    end
    return true, ("the exchange takes %.3f s a step"):format(a.breakdown_s.ep)
  end,
}
