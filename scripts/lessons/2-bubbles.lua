-- Lesson 2: pipeline bubbles shrink with microbatches.
-- Run: nest lua scripts/lessons/2-bubbles.lua [PATH=VALUE …]
nest.lesson {
  title = "Lesson 2: bubbles and microbatches",
  text = "A pipeline of p stages fills and drains once per step. While it does, stages wait: with M "
    .. "equal microbatches the idle part is (p - 1) / (M + p - 1). In the chart digits are "
    .. "forwards, letters backwards, dots are the bubble.",
  scenario = {
    model = "llama3-70b", cluster = "h100-spine-leaf", train = {global_batch = 128},
    pin = {
      tp = 8, pp = 8, cp = 1, ep = 1, etp = 1, zero = 1, virtual_stages = 1, micro_batch = 1,
      recompute = "full", order = "tp-cp-dp-pp",
    },
  },
  show = function(_, a)
    local forward, backward = {}, {}
    for i, stage in ipairs(a.plan.stages) do
      forward[i], backward[i] = stage.load_s / 4, stage.load_s * 3 / 4
    end
    local shown = math.min(a.plan.microbatches, 32)
    print(("%d stages, %d microbatches: step %.2f s, of which bubble %.2f s (%.0f%%)"):format(
      a.plan.pp, a.plan.microbatches, a.step_time_s, a.breakdown_s.bubble,
      100 * a.breakdown_s.bubble / a.step_time_s))
    local _, idle = nest.schedule(forward, backward, shown, 64)
    print(("%d microbatches drawn: %.0f%% of the chart is idle"):format(shown, 100 * idle))
  end,
  try = "bring the bubble under 10% of the step: raise global_batch, or lower pp",
  question = "with 8 stages, how many microbatches make the bubble 10%?",
  solution = {"global_batch=2048"},
  check = function(_, a)
    local share = a.breakdown_s.bubble / a.step_time_s
    return share < 0.1, ("the bubble is %.0f%% of the step with M = %d"):format(
      100 * share, a.plan.microbatches)
  end,
}
