-- Lesson 3: ZeRO pays for memory with bandwidth.
-- Run: nest lua scripts/lessons/3-zero.lua [PATH=VALUE …]
local function fullest(a)
  local most = 0
  for _, stage in ipairs(a.memory) do
    most = math.max(most, stage.total)
  end
  return most
end
nest.lesson {
  title = "Lesson 3: ZeRO buys memory with bandwidth",
  text = "ZeRO divides what every replica would hold in full: stage 1 the optimizer's state, stage 2 "
    .. "the gradients too, stage 3 the weights too. Stage 1 moves no more bytes than plain data "
    .. "parallelism. Stage 2 reduces gradients with every microbatch, stage 3 also gathers the "
    .. "weights twice: with many microbatches that is many times the traffic.",
  scenario = {
    model = "llama3-70b", cluster = "h100-spine-leaf", limits = {memory = "16GiB"},
    edits = {{["spine.oversubscription"] = 16}},
    pin = {
      tp = 8, pp = 4, cp = 1, ep = 1, etp = 1, zero = 3, shard = 32, virtual_stages = 1,
      micro_batch = 1, recompute = "full", order = "tp-cp-dp-pp",
    },
  },
  show = function(s)
    local rows = {}
    for zero = 0, 3 do
      local a = s:eval {zero = zero}
      rows[#rows + 1] = {
        zero = zero, fits = a.feasible, memory = nest.format(fullest(a), "bytes"),
        step = a.step_time_s, sync = a.breakdown_s.dp,
      }
    end
    print(("limit %s a device, spine %g:1"):format(s:get("limits.memory"),
      s:get("spine.oversubscription")))
    nest.table(rows, {"zero", {"memory", "fullest device"}, "fits", {"step", "step, s"},
      {"sync", "ZeRO and dp, s"}})
  end,
  try = "choose the stage that fits the limit at the least time: zero=0 … zero=3. Then see what "
    .. "8 GiB more a device would be worth: memory=24GiB",
  question = "why does the wire cost more at stage 3 with M = 32 microbatches than with M = 1?",
  solution = {"zero=2"},
  check = function(s, a)
    if not a.feasible then
      return false, "this does not fit"
    end
    for zero = 0, 3 do
      local other = s:eval {zero = zero}
      if other.feasible and other.step_time_s < a.step_time_s then
        return false, ("it fits, and zero = %d is faster"):format(zero)
      end
    end
    return true, "the least sharding that fits is the fastest that fits"
  end,
}
