#include "script/reference.h"

const struct nest_reference nest_references[] = {
    {"nest.model", "nest.model(NAME)",
     "What is known of a model: a shipped name or a path. A table with id, name, layers, hidden, "
     "ffn, heads, kv_heads, vocab, seq, experts, top_k, params, active_params.",
     "local m = nest.model(\"llama3-8b\")\n"
     "assert(m.layers == 32 and m.params > 8e9)\n"},
    {"nest.cluster", "nest.cluster(NAME)",
     "What is known of a cluster: id, name, devices, device (id, name, memory, memory_bandwidth, "
     "peak), levels (innermost first: name, fanout, capacity, groups, bandwidth in bytes/s, "
     "latency "
     "in s, oversubscription) and the knobs of a cluster in Lua.",
     "local c = nest.cluster(\"h100-spine-leaf\")\n"
     "assert(c.devices == 1024 and c.levels[3].oversubscription == 4)\n"},
    {"nest.scenario", "nest.scenario{…} or nest.scenario(PATH)",
     "A scenario: a table with the keys of a scenario file (model, cluster, train, limits, "
     "overlap, "
     "pin, allow, edits), or such a file. Without a model it is llama3-70b, without a cluster "
     "h100-spine-leaf; both may be tables, and the cluster one made by cluster{…}.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\",\n"
     "                        train = {global_batch = 64}, pin = {tp = 2}}\n"
     "assert(s:solve().plan.tp == 2)\n"},
    {"nest.compare", "nest.compare(s)",
     "Solves the scenario and asks the peers: a list of answers, each with planner; where a "
     "planner "
     "finds nothing, feasible is false and reason says why.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local rows = nest.compare(s)\n"
     "assert(rows[1].planner == \"Nest\" and #rows >= 2)\n"},
    {"nest.format", "nest.format(VALUE, UNIT)",
     "A quantity as readable text. UNIT is none, bytes, bandwidth, seconds, flops or ratio.",
     "assert(nest.format(50e9, \"bandwidth\") == \"50 GB/s\")\n"},
    {"nest.parse", "nest.parse(TEXT, UNIT)",
     "The number of SI units that a text such as \"400Gb/s\" means.",
     "assert(nest.parse(\"400Gb/s\", \"bandwidth\") == 50e9)\n"},
    {"nest.curve", "nest.curve{{X, Y}, …}",
     "A function that interpolates between measured points, linearly: the first value before them, "
     "the last slope behind them.",
     "local time = nest.curve {{1e6, 20e-6}, {1e8, 500e-6}}\n"
     "assert(time(5e5) == 20e-6 and time(1e8) == 500e-6)\n"},
    {"nest.read", "nest.read(PATH)",
     "A YAML or JSON file as a table. Only a path that is one of the script's arguments is read.",
     "assert(not pcall(nest.read, \"/etc/hostname\"))\n"},
    {"nest.table", "nest.table(ROWS, COLUMNS)",
     "Prints a list of tables, one line each. A column is a key, or {key, title}; \"plan.tp\" "
     "reaches inside.",
     "nest.table({{a = 1, b = {c = 2}}}, {\"a\", {\"b.c\", \"c of b\"}})\n"},
    {"nest.bars", "nest.bars(LABELS, VALUES [, WIDTH])", "Prints one bar a line.",
     "nest.bars({\"compute\", \"bubble\"}, {3, 1})\n"},
    {"nest.plot", "nest.plot(X, Y [, {title =, width =, height =}])",
     "Prints points on a grid of characters.",
     "nest.plot({1, 2, 3}, {1, 4, 9}, {title = \"y\"})\n"},
    {"nest.schedule", "nest.schedule(FORWARD, BACKWARD, MICROBATCHES [, WIDTH])",
     "Prints the 1F1B schedule of stages with these times, stages down, time across: digits are "
     "forwards, letters backwards, dots idle. Returns the time it takes and the fraction that is "
     "idle.",
     "local time, idle = nest.schedule({1, 1}, {2, 2}, 4)\n"
     "assert(time == 15 and math.abs(idle - 0.2) < 1e-12)\n"},
    {"nest.lesson", "nest.lesson{title =, text =, scenario =, show =, try =, question =, check =}",
     "A guided lesson. Prints title and text, makes the scenario, applies the script's arguments "
     "(PATH=VALUE, or KEY=VALUE of a pin) to it, evaluates its pins, calls show(s, answer) for the "
     "live figures, prints the thing to try and the question; with arguments, check(s, answer) "
     "returns whether they did it, and a sentence. Returns whether they did.",
     "local done = nest.lesson {\n"
     "  title = \"One box\", text = \"Eight devices.\",\n"
     "  scenario = {model = \"llama3-8b\", cluster = \"hgx-h100-8\", pin = {tp = 8}},\n"
     "  show = function(s, answer) print(answer.plan.tp) end,\n"
     "  try = \"tp=4\", question = \"Is it faster?\",\n"
     "  check = function(s, answer) return answer.plan.tp == 4, \"\" end,\n"
     "}\n"
     "assert(done == false)\n"},
    {"s:set", "s:set(PATH, VALUE) or s:set{PATH = VALUE, …}",
     "Changes figures, as --set does. Returns the scenario.",
     "local s = nest.scenario {}\n"
     "s:set(\"spine.oversubscription\", \"8:1\"):set{memory = \"70GiB\", seq = 4096}\n"
     "assert(s:get(\"seq\") == 4096)\n"},
    {"s:get", "s:get(PATH)", "The figure at a path: a number, or text with its unit.",
     "local s = nest.scenario {}\n"
     "assert(s:get(\"spine.bandwidth\") == \"50GB/s\")\n"},
    {"s:paths", "s:paths()", "Every path that can be set.",
     "local s = nest.scenario {}\n"
     "assert(#s:paths() > 20)\n"},
    {"s:pin", "s:pin(KEY, VALUE) or s:pin{KEY = VALUE, …}",
     "Fixes or limits choices, as --pin does: a number, \"2..8\", \"1|3\", a word; \"free\" frees. "
     "Returns the scenario.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "assert(s:pin{tp = \"2|4\", zero = 1}:solve().plan.tp >= 2)\n"},
    {"s:override", "s:override{HOOK = function(asked, default) … end, …}",
     "Puts Lua functions in place of parts of the cost model, for s:solve, s:eval and s:sweep, and "
     "in "
     "the explorer's console for the scenario that is shown; {} takes them away. A file named in a "
     "scenario's scripts: or by --script returns the same "
     "table; "
     "where several have a hook, a later one's default is what those before it say. Each function "
     "gets a table of what is asked, and default, which called without arguments returns what the "
     "cost model says. It is asked when cost tables are built, and must always answer the same: "
     "where all that it looked at is as it was once before (the fields it read, default where it "
     "called that), its answer is taken from then. What it returns must be finite and at least 0. "
     "The hooks are described below.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local before = s:solve()\n"
     "s:override {compute = function(layer, default)\n"
     "  local forward, backward = default()\n"
     "  return 2 * forward, 2 * backward\n"
     "end}\n"
     "assert(s:solve().step_time_s > 1.5 * before.step_time_s)\n"
     "assert(s:override {}:solve().step_time_s == before.step_time_s)\n"},
    {"compute", "compute(layer, default) → forward, backward",
     "Hook: seconds of one layer's own operators per microbatch. layer has name, role (embedding, "
     "block, head, profiled), moe, tp, cp, ep, etp, sp and micro_batch.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "s:override {compute = function(layer, default)\n"
     "  local forward, backward = default()\n"
     "  local slower = layer.role == \"head\" and 1.5 or 1\n"
     "  return slower * forward, slower * backward\n"
     "end}\n"
     "assert(s:solve().feasible)\n"},
    {"collective", "collective(message, default) → seconds",
     "Hook: one collective over every communicator of its kind at once. message has kind "
     "(all_reduce, reduce_scatter, all_gather, all_to_all, broadcast), bytes, members, level (0 is "
     "the innermost) and level_name. For otherwise equal messages it may not return less where "
     "default() is more.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local measured = nest.curve {{1e6, 30e-6}, {1e8, 600e-6}, {1e9, 5e-3}}\n"
     "s:override {collective = function(message, default)\n"
     "  if message.kind == \"all_reduce\" and message.members == 8 then\n"
     "    return measured(message.bytes)\n"
     "  end\n"
     "  return default()\n"
     "end}\n"
     "assert(s:eval {dp = 8, zero = 0}.feasible ~= nil)\n"},
    {"transfer", "transfer(message, default) → seconds",
     "Hook: one tensor between neighbouring stages. message has bytes, level, level_name, block "
     "(devices that send at once), direction (forward: the activation, backward: its gradient), "
     "before and after (names of the layers at the cut; nil for the copies of a tied embedding).",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local plain = s:eval {tp = 2, pp = 4}\n"
     "s:override {transfer = function(message, default) return 10 * default() end}\n"
     "assert(s:eval {tp = 2, pp = 4}.breakdown_s.pp > plain.breakdown_s.pp)\n"},
    {"memory", "memory(layer, default) → {TERM = bytes, …}",
     "Hook: bytes of one layer on one device; what is left out stays as it is. layer is that of "
     "compute with zero, shard, dp and recompute (none, selective, full). The terms: weights, "
     "gradients, optimizer, logits; activations for every microbatch in flight; working and "
     "gathered, live while the layer runs, of which a stage needs the largest. And, 0 by default, "
     "counted as activations: resident once, whatever the microbatches; waiting for every "
     "microbatch in flight but the one at work; entering as waiting, of a stage's first layer "
     "only.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local pins = {tp = 2, pp = 4}\n"
     "local plain = s:eval(pins)\n"
     "s:override {memory = function(layer, default)\n"
     "  return {activations = default().activations / 2}\n"
     "end}\n"
     "assert(s:eval(pins).memory[1].activations < plain.memory[1].activations)\n"},
    {"reserve", "reserve(strategy, default) → {base =, pipeline =, buffers =}",
     "Hook: bytes of a device outside its layers: base for context, libraries and groups, pipeline "
     "more where a stage has a neighbour, buffers for communication. strategy has tp, cp, ep, etp, "
     "sp, micro_batch, zero, shard and dp.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "s:override {reserve = function(strategy, default) return {base = 3e9} end}\n"
     "assert(s:eval {tp = 8}.memory[1].other_terms.reserve == 3e9)\n"},
    {"load", "load(stage, default) → {forward =, backward =, recompute =, into =, out =}",
     "Hook: how a stage's load follows from its parts, as weights: forward, backward (without what "
     "recomputation repeats), recompute, and the boundary tensors into and out of it; a weight "
     "left "
     "out is 0. The default is 1 for each. A list of up to four such tables stands for the largest "
     "of the sums. stage has first, last (it has no neighbour there), recompute, tp, cp, ep, etp, "
     "sp and micro_batch. Weights rather than seconds keep the search exact. With virtual stages "
     "the parts are sums over the chunks, and nothing of the transfers is hidden.",
     "-- The gradient arrives while the forward is done again.\n"
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local pins = {tp = 2, pp = 4, recompute = \"full\"}\n"
     "local plain = s:eval(pins)\n"
     "s:override {load = function(stage, default)\n"
     "  local hidden, late = default(), default()\n"
     "  hidden.out, late.recompute = 0, 0\n"
     "  return stage.recompute == \"full\" and {hidden, late} or default()\n"
     "end}\n"
     "assert(s:eval(pins).step_time_s < plain.step_time_s)\n"},
    {"step", "step(pipeline, default) → {bottleneck =, fill =, tail =, …}",
     "Hook: how the step time follows from its parts, as weights; what is left out stays as it is. "
     "bottleneck weighs the largest load, fill the sum of the loads, tail what is left of the "
     "update when the pipeline has drained, tied the all-reduce of a tied embedding; constant is "
     "in seconds. Within the tail of a stage sync weighs its traffic and update its optimizer; "
     "tails = \"first\" counts only the first stage's. false stands for: never so many stages and "
     "replicas. pipeline has stages, microbatches, virtual_stages and dp. The default is "
     "microbatches - 1 / virtual_stages and 1 / virtual_stages, then "
     "1, 1 and 0.",
     "-- GPipe with equal stages: every one waits for the slowest.\n"
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "s:override {step = function(p, default)\n"
     "  return {bottleneck = p.microbatches + p.stages - 1, fill = 0}\n"
     "end}\n"
     "assert(s:eval {tp = 2, pp = 4}.feasible ~= nil)\n"},
    {"s:copy", "s:copy()", "The same scenario again; edits of one leave the other alone.",
     "local s = nest.scenario {}\n"
     "local t = s:copy():set(\"seq\", 4096)\n"
     "assert(s:get(\"seq\") == 8192 and t:get(\"seq\") == 4096)\n"},
    {"s:solve", "s:solve([{top = K}])",
     "The best plan: a table with the keys of nest solve --json (alternatives has the next K - 1). "
     "Where no plan is feasible: nil and the reason.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local best = s:solve {top = 3}\n"
     "assert(best.feasible and #best.alternatives == 2)\n"
     "local none, why = s:set(\"memory\", \"1GiB\"):solve()\n"
     "assert(none == nil and type(why) == \"string\")\n"},
    {"s:eval", "s:eval{PINS} or s:eval(PLAN)",
     "Predicts one configuration without searching: pins with the defaults of nest eval for the "
     "rest, or the plan of an answer. An infeasible one has feasible = false; an illegal one is "
     "nil "
     "and the reason.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local best = s:solve()\n"
     "assert(s:eval(best).step_time_s == best.step_time_s)\n"
     "assert(s:eval{tp = 8}.step_time_s >= best.step_time_s)\n"},
    {"s:sweep", "s:sweep(PATH, {VALUES})",
     "Solves once per value; a list of answers, each with value.",
     "local s = nest.scenario {model = \"llama3-8b\", cluster = \"hgx-h100-8\"}\n"
     "local rows = s:sweep(\"node.bandwidth\", {\"450GB/s\", \"45GB/s\"})\n"
     "assert(rows[2].step_time_s >= rows[1].step_time_s)\n"},
    {"node", "node{fanout =, bandwidth =, latency =}",
     "An innermost group of devices joined by a switch; name is \"node\" unless given. "
     "group:times(N) is N of a group side by side. device = NAME makes it, and what is inside of "
     "any group, another device; uplink = BANDWIDTH bounds its links further out.",
     "local box = node {fanout = 8, bandwidth = \"450GB/s\", latency = \"1us\"}\n"
     "local many = box:times(4)\n"},
    {"level", "level{name =, bandwidth =, latency =, [oversubscription =, kind =,] GROUPS…}",
     "A group of groups. Groups of one level have the same figures but device and uplink, and may "
     "hold different numbers. "
     "kind is switch, ring, mesh, fully-connected or rail.",
     "local box = node {fanout = 8, bandwidth = \"450GB/s\", latency = \"1us\"}\n"
     "local odd = node {fanout = 7, bandwidth = \"450GB/s\", latency = \"1us\"}\n"
     "local rack = level {name = \"rack\", bandwidth = \"400Gb/s\", latency = \"4us\",\n"
     "                    box:times(3), odd}\n"
     "assert(nest.scenario {model = \"llama3-8b\",\n"
     "  cluster = cluster {name = \"c\", device = \"h100-sxm\", rack}}:solve().devices == 31)\n"},
    {"ring", "ring{name =, fanout =, bandwidth =, latency =}",
     "A group whose members form a ring; bandwidth is a device's own, both links together.",
     "local r = ring {name = \"ring\", fanout = 16, bandwidth = \"100GB/s\", latency = \"1us\"}\n"},
    {"torus", "torus{shape = \"4x4x4\", bandwidth =, latency =, [wrap =]}",
     "An innermost group of devices on a torus (a mesh with wrap = false); bandwidth is one "
     "link's.",
     "local cube = torus {shape = \"4x4x4\", bandwidth = \"50GB/s\", latency = \"1us\"}\n"
     "local c = cluster {name = \"cube\", device = \"tpu-v4\", cube}\n"
     "assert(nest.scenario {model = \"llama3-8b\", cluster = c}:solve().devices == 64)\n"},
    {"cluster", "cluster{name =, device =, GROUP} or cluster{name =, device =, levels = {…}}",
     "A whole cluster, as a topology file returns it.",
     "local c = cluster {name = \"box\", device = \"h100-sxm\",\n"
     "  node {fanout = 8, bandwidth = \"450GB/s\", latency = \"1us\"}}\n"
     "assert(#c.levels == 1 and c.levels[1].fanout == 8)\n"},
    {"graph", "graph() or graph{names = {LEVEL, …}}",
     "An empty fabric to which devices, switches and links are added; cluster{…, graph = g} turns "
     "it "
     "into levels, and nest show says what is lost. Two devices meet at the level of their widest "
     "path; all of a group sending out at once get no more than the links around it carry.",
     "local g = graph {names = {\"node\", \"fabric\"}}\n"
     "local spine = g:switch(\"spine\", 2)\n"
     "for n = 0, 3 do\n"
     "  local gpus = g:device(\"n\" .. n .. \"gpu\", 8)\n"
     "  g:link(gpus, g:switch(\"nvswitch\" .. n), {bandwidth = \"450GB/s\", latency = "
     "\"0.5us\"})\n"
     "  g:link(gpus, spine, {bandwidth = \"200Gb/s\", latency = \"2us\"})\n"
     "end\n"
     "local s = nest.scenario {cluster = cluster {name = \"Planes\", device = \"h100-sxm\", graph "
     "= g}}\n"
     "assert(s:get(\"fabric.fanout\") == 4)\n"},
    {"g:device", "g:device(NAME [, COUNT])",
     "Adds the device NAME and returns its name, or NAME0 to NAME(COUNT-1) and returns the list. "
     "Devices are numbered in the order in which they are added.",
     "local g = graph()\nassert(g:device(\"gpu\", 3)[3] == \"gpu2\" and g:device(\"host\") == "
     "\"host\")\n"},
    {"g:switch", "g:switch(NAME [, COUNT])", "The same for switches, which compute nothing.",
     "local g = graph()\nassert(#g:switch(\"leaf\", 4) == 4)\n"},
    {"g:link", "g:link(A, B, {bandwidth =, latency =, [times =, pairwise =]})",
     "Joins every node of A to every node of B (names, or lists of them); with pairwise = true the "
     "first to the first, the second to the second. Bandwidth is that of one link in each "
     "direction; "
     "times counts parallel links.",
     "local g = graph()\n"
     "g:link(g:device(\"gpu\", 4), g:switch(\"leaf\"), {bandwidth = 50e9, latency = 1e-6})\n"
     "assert(#g.links == 4)\n"},
    {"g:ring", "g:ring(LIST, {bandwidth =, latency =, [times =]})",
     "Joins each node of the list to the next and the last to the first.",
     "local g = graph()\n"
     "g:ring(g:device(\"gpu\", 8), {bandwidth = \"50GB/s\", latency = \"1us\"})\n"
     "assert(#g.links == 8)\n"},
    {"param", "param(NAME, DEFAULT, LOW, HIGH)",
     "Declares a knob, settable as cluster.NAME and in the explorer, and returns its value. The "
     "figures are numbers or texts with a unit; three whole numbers make a whole knob.",
     "assert(param(\"racks\", 4, 1, 64) == 4)\n"
     "assert(param(\"wan\", \"100Gb/s\", \"1Gb/s\", \"10Tb/s\") == 12.5e9)\n"},
    {NULL, NULL, NULL, NULL},
};

void nest_reference_write(struct nest_strbuf *out)
{
    for (const struct nest_reference *entry = nest_references; entry->name; entry++) {
        nest_strbuf_printf(out, "%s%s\n    %s\n\n", entry == nest_references ? "" : "\n",
                           entry->signature, entry->text);
        const char *line = entry->example;
        while (*line) {
            const char *end = line;
            while (*end && *end != '\n') {
                end++;
            }
            nest_strbuf_printf(out, "        %.*s\n", (int)(end - line), line);
            line = *end ? end + 1 : end;
        }
    }
}
