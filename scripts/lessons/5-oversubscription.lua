-- Lesson 5: oversubscription, and what you let cross the spine.
-- Run: nest lua scripts/lessons/5-oversubscription.lua [PATH=VALUE …]
local orders = {"tp-cp-dp-pp", "tp-cp-pp-dp"}
nest.lesson {
  title = "Lesson 5: oversubscription and the order of devices",
  text = "A 4:1 spine gives every device a quarter of its bandwidth when all send at once, and all of "
    .. "it when few do. What crosses the spine is your choice: the device order puts the replicas "
    .. "of a stage side by side (tp-cp-dp-pp, Megatron's), so the pipeline crosses, or the stages "
    .. "of a replica (tp-cp-pp-dp), so the gradients do.",
  scenario = {
    model = "llama3-70b", cluster = "h100-spine-leaf",
    pin = {
      tp = 8, pp = 8, cp = 1, ep = 1, etp = 1, zero = 1, virtual_stages = 1, micro_batch = 1,
      recompute = "full", order = "tp-cp-dp-pp",
    },
  },
  show = function(s)
    local rows = {}
    for _, ratio in ipairs {1, 4, 16, 64} do
      local t = s:copy():set("spine.oversubscription", ratio)
      local row = {ratio = ratio .. ":1"}
      for i, order in ipairs(orders) do
        local a = t:eval {order = order}
        row["step" .. i], row["pp" .. i], row["dp" .. i] = a.step_time_s, a.breakdown_s.pp,
          a.breakdown_s.dp
      end
      rows[#rows + 1] = row
    end
    nest.table(rows, {{"ratio", "spine"}, {"step1", orders[1] .. ", s"}, {"pp1", "pp"},
      {"dp1", "dp"}, {"step2", orders[2] .. ", s"}, {"pp2", "pp"}, {"dp2", "dp"}})
  end,
  try = "at a 64:1 spine, choose the order that loses least: spine.oversubscription=64 order=…",
  question = "which traffic is once per step, and which is once per microbatch?",
  solution = {"spine.oversubscription=64", "order=tp-cp-pp-dp"},
  check = function(s, a)
    local ratio = s:get("spine.oversubscription")
    if ratio ~= 64 then
      return false, ("the spine is %g:1"):format(ratio)
    end
    for _, order in ipairs(orders) do
      if s:eval({order = order}).step_time_s < a.step_time_s then
        return false, order .. " is faster"
      end
    end
    return true, "gradients cross once a step; activations would cross with every microbatch"
  end,
}
