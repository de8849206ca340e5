-- Lesson 4: recomputation pays for memory with time.
-- Run: nest lua scripts/lessons/4-recompute.lua [PATH=VALUE …]
local function fullest(a)
  local most
  for _, stage in ipairs(a.memory) do
    if not most or stage.total > most.total then
      most = stage
    end
  end
  return most
end
nest.lesson {
  title = "Lesson 4: recompute for memory",
  text = "The backward pass needs what the forward pass computed. Keeping it costs memory for every "
    .. "microbatch in flight, most on the first stage; full recomputation keeps only the input of "
    .. "each layer and does the forward again, a quarter to a third more compute. Selective "
    .. "recomputation drops attention's scores, which flash attention never stores: it saves next "
    .. "to nothing here.",
  scenario = {
    model = "llama3-70b", cluster = "h100-spine-leaf", limits = {memory = "30GiB"},
    pin = {
      tp = 8, pp = 4, cp = 1, ep = 1, etp = 1, zero = 1, virtual_stages = 1, micro_batch = 1,
      recompute = "none", order = "tp-cp-dp-pp",
    },
  },
  show = function(s)
    local rows = {}
    for _, mode in ipairs {"none", "selective", "full"} do
      local a = s:eval {recompute = mode}
      local most = fullest(a)
      rows[#rows + 1] = {
        mode = mode, fits = a.feasible, step = a.step_time_s, again = a.breakdown_s.recompute,
        kept = nest.format(most.activations, "bytes"), all = nest.format(most.total, "bytes"),
      }
    end
    print("limit " .. s:get("limits.memory"))
    nest.table(rows, {{"mode", "recompute"}, {"kept", "activations"}, {"all", "fullest device"},
      "fits", {"step", "step, s"}, {"again", "recompute, s"}})
  end,
  try = "make it fit: recompute=full, or another pp or tp, or more memory",
  question = "which costs less time here: recomputing, or the pipeline that needs less memory?",
  solution = {"recompute=full"},
  check = function(_, a)
    local most = fullest(a)
    return a.feasible, ("the fullest device holds %s of %s"):format(
      nest.format(most.total, "bytes"), nest.format(most.limit, "bytes"))
  end,
}
