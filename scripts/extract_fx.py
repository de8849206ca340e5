#!/usr/bin/env python3
"""A PyTorch module as a layer graph for nest, traced by torch.fx, branches included.

    scripts/extract_fx.py FILE.py:NAME --input 1x512x1024 >model.yaml
    nest solve --model model.yaml --cluster h100-spine-leaf

NAME is a torch.nn.Module, or a function or class that makes one. A layer is what stands in a
ModuleList or Sequential, or any other child of the module that has none inside; what the module
itself computes between its layers goes to the layer that takes it. Times are measured on the
device, or follow from the parameters with --rate. PyTorch is needed, nest is not.
"""
import argparse
import importlib.util
import os
import statistics
import sys
import time

try:
    import torch
    from torch import fx, nn
except ImportError:
    sys.exit("extract_fx.py: PyTorch is not installed (Debian: python3-torch)")

ELEMENT = 2  # bytes of a weight or activation in training, whatever the module has now


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", maxsplit=1)[0],
        epilog="The YAML goes to standard output; check it with nest check.")
    parser.add_argument("module", metavar="FILE.py:NAME", help="a module, or what makes one")
    parser.add_argument("--input", action="append", default=[], metavar="SHAPE",
                        help="shape of one input, such as 1x512x1024, or 1x512:30000 for whole "
                             "numbers below 30000; once per input")
    parser.add_argument("--seq", type=int, help="tokens of a sequence; else the second dimension")
    parser.add_argument("--name", help="name of the model")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS",
                        help="a class that is one layer, whatever is inside")
    parser.add_argument("--open", action="append", default=[], metavar="CLASS",
                        help="a class whose children are layers of their own")
    parser.add_argument("--runs", type=int, default=5, help="measurements, of which the median")
    parser.add_argument("--rate", type=float, metavar="FLOP/S",
                        help="instead of measuring: 2 FLOP per parameter and token at this rate")
    return parser.parse_args()


def fail(message):
    sys.exit("extract_fx.py: " + message)


def load_module(where):
    path, _, name = where.rpartition(":")
    if not path or not os.path.isfile(path):
        fail(f"'{where}' is not FILE.py:NAME of a file that exists")
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("extracted", path)
    source = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(source)
    if not hasattr(source, name):
        fail(f"{path} has no '{name}'")
    found = getattr(source, name)
    module = found if isinstance(found, nn.Module) else found()
    if not isinstance(module, nn.Module):
        fail(f"{name} makes a {type(module).__name__}, not a torch.nn.Module")
    return module


def make_input(shape, device):
    """1x512x1024 is random numbers, 1x512:30000 whole numbers below 30000."""
    sizes, _, below = shape.partition(":")
    try:
        size = [int(part) for part in sizes.split("x")]
        limit = int(below) if below else 0
    except ValueError:
        fail(f"'{shape}' is no shape, such as 1x512x1024 or 1x512:30000")
    if limit:
        return torch.randint(limit, size, device=device)
    return torch.randn(size, device=device)


# ---- The graph ----------------------------------------------------------------------------------


def holds_layers(module):
    """Whether layers stand in a list inside."""
    return any(isinstance(child, (nn.ModuleList, nn.Sequential)) and len(child) > 1
               for child in module.modules())


class LayerTracer(fx.Tracer):
    """Stops at layers, so that what is inside them need not be traceable."""

    def __init__(self, leaf, opened):
        super().__init__()
        self.leaf, self.opened = leaf, opened

    def is_leaf_module(self, m, module_qualified_name):
        if type(m).__name__ in self.leaf:
            return True
        if type(m).__name__ in self.opened or isinstance(m, (nn.ModuleList, nn.Sequential)):
            return False
        in_list = module_qualified_name.rpartition(".")[2].isdigit()
        return in_list or not holds_layers(m)


class Layer:
    """A module's call with the glue that only it needs, or glue that several need."""

    def __init__(self, name, module):
        self.name, self.module = name, module
        self.nodes, self.inputs = [], []
        self.parameters, self.output, self.saved = 0, 0, 0
        self.fw = self.bw = 0.0
        self.times = 1


def unique(name, taken):
    name = "".join(c if c.isalnum() else "_" for c in name).strip("_") or "layer"
    number = 2
    chosen = name
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    taken.add(chosen)
    return chosen


def group_nodes(graph, modules):
    """Layers in the order of the graph; owner[node] is the layer that computes it."""
    owner, layers, taken = {}, [], set()
    for node in graph.nodes:
        if node.op == "call_module":
            layer = Layer(unique(str(node.target), taken), modules[node.target])
            layers.append(layer)
            owner[node] = layer
    for node in reversed(list(graph.nodes)):
        if node.op in ("placeholder", "output") or node in owner:
            continue
        users = {owner[user] for user in node.users if user in owner}
        if len(users) == 1:
            owner[node] = users.pop()
            continue
        producers = {owner[source] for source in node.all_input_nodes if source in owner}
        alone = not users and len(producers) == 1
        if alone:
            owner[node] = producers.pop()  # what follows the last layer
        elif node.op != "get_attr":
            owner[node] = Layer(unique(node.name, taken), None)
            layers.append(owner[node])
    for node in graph.nodes:
        if node in owner:
            owner[node].nodes.append(node)
    order = {node: i for i, node in enumerate(graph.nodes)}
    layers.sort(key=lambda layer: order[layer.nodes[-1]])
    return layers, owner


def connect(layers, owner):
    for layer in layers:
        own = set(layer.nodes)
        for node in layer.nodes:
            for source in node.all_input_nodes:
                producer = owner.get(source)
                if source not in own and producer and producer not in layer.inputs:
                    layer.inputs.append(producer)


# ---- What a layer weighs and takes --------------------------------------------------------------


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def size_of(tensor):
    return tensor.numel() * (ELEMENT if tensor.is_floating_point() else tensor.element_size())


class Runner(fx.Interpreter):
    """Runs a layer's nodes on values that the nodes before it left."""

    def run_layer(self, layer, values):
        local = {}

        def load(argument):
            return fx.node.map_arg(argument, lambda n: local[n] if n in local else values[n])

        for node in layer.nodes:
            call = getattr(self, node.op)
            local[node] = call(node.target, load(node.args), load(node.kwargs))
        return local


def wait(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def detached(value):
    """The same value as an input of its own, whose gradient is wanted."""
    if isinstance(value, torch.Tensor):
        copy = value.detach()
        return copy.requires_grad_() if copy.is_floating_point() else copy
    if isinstance(value, (list, tuple)):
        return type(value)(detached(item) for item in value)
    return value


def run_once(runner, layer, values, device):
    """Forward and backward of one layer: their seconds, the bytes saved between, and its values."""
    weights = {parameter.data_ptr() for parameter in runner.module.parameters()}
    saved = {}

    def keep(tensor):
        if tensor.data_ptr() not in weights:
            saved[tensor.data_ptr()] = size_of(tensor)
        return tensor

    inputs = {node: detached(value) for node, value in values.items()}
    wait(device)
    start = time.perf_counter()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        local = runner.run_layer(layer, inputs)
    wait(device)
    forward = time.perf_counter() - start
    outputs = [t for t in tensors_in(local[layer.nodes[-1]]) if t.requires_grad]
    start = time.perf_counter()
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
    wait(device)
    return forward, time.perf_counter() - start, sum(saved.values()), local


def measure(layers, module, graph, inputs, arguments):
    runner = Runner(fx.GraphModule(module, graph))
    values = dict(zip([n for n in graph.nodes if n.op == "placeholder"], inputs))
    for node in graph.nodes:
        if node.op == "get_attr" and not any(node in layer.nodes for layer in layers):
            values[node] = runner.get_attr(node.target, node.args, node.kwargs)
    counted = set()
    for layer in layers:
        needed = {n: values[n] for node in layer.nodes for n in node.all_input_nodes
                  if n in values}
        runs = [run_once(runner, layer, needed, arguments.device)
                for _ in range(max(1, arguments.runs))]
        layer.fw = statistics.median(run[0] for run in runs)
        layer.bw = statistics.median(run[1] for run in runs)
        layer.saved = runs[-1][2]
        values.update(runs[-1][3])
        layer.output = sum(size_of(t) for t in tensors_in(runs[-1][3][layer.nodes[-1]]))
        count_parameters(layer, runner.module, counted)
    return inputs[0].shape[0] if inputs[0].dim() > 1 else 1


def count_parameters(layer, module, counted):
    """Each parameter once, in the first layer that uses it."""
    own = list(layer.module.parameters()) if layer.module is not None else []
    for node in layer.nodes:
        if node.op == "get_attr":
            value = module
            for part in node.target.split("."):
                value = getattr(value, part)
            own += [value] if isinstance(value, nn.Parameter) else []
    for parameter in own:
        if id(parameter) not in counted:
            counted.add(id(parameter))
            layer.parameters += parameter.numel()


def even_out(layers):
    """Layers of one class and size are as fast as each other: their median."""
    alike = {}
    for layer in layers:
        key = (type(layer.module), layer.parameters, layer.output, layer.saved)
        alike.setdefault(key, []).append(layer)
    for group in alike.values():
        fw = statistics.median(layer.fw for layer in group)
        bw = statistics.median(layer.bw for layer in group)
        for layer in group:
            layer.fw, layer.bw = fw, bw


# ---- Output -------------------------------------------------------------------------------------


def shorten(kept):
    """blocks_0 with `times` is called blocks."""
    taken = {layer.name for layer in kept}
    for layer in kept:
        stem = layer.name.rstrip("0123456789").rstrip("_")
        if layer.times > 1 and stem and stem not in taken:
            taken.add(stem)
            layer.name = stem


def collapse(layers):
    """Equal layers in a row that only follow each other are one entry with `times`."""
    consumers = {layer: [l for l in layers if layer in l.inputs] for layer in layers}
    kept, entry = [], {}
    for layer in layers:
        before = layer.inputs[0] if len(layer.inputs) == 1 else None
        same = before is not None and consumers[before] == [layer] and (
            type(layer.module), layer.parameters, layer.output, layer.saved, layer.fw) == (
            type(before.module), before.parameters, before.output, before.saved, before.fw)
        if same and layer.module is not None:
            entry[layer] = entry[before]
            entry[layer].times += 1
        else:
            entry[layer] = layer
            kept.append(layer)
    shorten(kept)
    return kept, entry


def write(layers, seq, batch, arguments):
    kept, entry = collapse(layers)
    how = (f"2 FLOP per parameter and token at {arguments.rate:g} FLOP/s, twice that backward"
           if arguments.rate else
           f"measured on {arguments.device} (PyTorch {torch.__version__}), median of "
           f"{max(1, arguments.runs)} runs")
    out = [f"# traced by torch.fx from {os.path.basename(arguments.module)}",
           f"# times: {how}; at tp 1 only, in which alone the layers can be run",
           f"# bytes: {ELEMENT} per weight and activation"]
    out += [f"name: {arguments.name or arguments.module.rpartition(':')[2]}", f"seq: {seq}",
            "graph:", "  layers:"]
    for layer in kept:
        times = f" times: {layer.times}," if layer.times > 1 else ""
        out.append(f"    - {{name: {layer.name},{times} measured: [{{tp: 1, "
                   f"fw: {layer.fw / batch * 1e3:.9g}ms, bw: {layer.bw / batch * 1e3:.9g}ms, "
                   f"weights: {layer.parameters * ELEMENT}B, "
                   f"activations: {layer.saved // batch}B, "
                   f"boundary: {layer.output // batch}B}}]}}")
    edges = [f"[{entry[source].name}, {layer.name}]" for layer in kept for source in layer.inputs]
    out.append("  edges: [" + ", ".join(edges) + "]")
    print("\n".join(out))


def main():
    arguments = parse_arguments()
    module = load_module(arguments.module).to(arguments.device)
    module.train()
    if not arguments.input:
        fail("give the shape of each input, such as --input 1x512x1024")
    inputs = [make_input(shape, arguments.device) for shape in arguments.input]
    tracer = LayerTracer(set(arguments.leaf), set(arguments.open))
    try:
        graph = tracer.trace(module)
    except (fx.proxy.TraceError, TypeError) as error:
        fail(f"torch.fx cannot follow what the module does between its layers: {error}; name the "
             "class around it with --leaf CLASS")
    layers, owner = group_nodes(graph, dict(module.named_modules()))
    if not layers:
        fail("the module calls no layers")
    connect(layers, owner)
    batch = measure(layers, module, graph, inputs, arguments)
    seq = arguments.seq or (inputs[0].shape[1] if inputs[0].dim() > 1 else 1)
    if arguments.rate:
        for layer in layers:
            layer.fw = 2 * layer.parameters * seq * batch / arguments.rate
            layer.bw = 2 * layer.fw
    even_out(layers)
    write(layers, seq, batch, arguments)


if __name__ == "__main__":
    main()
