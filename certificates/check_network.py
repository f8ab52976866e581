"""A network for the checker: its tensors, and whether they and the description beside the file fit
what a certificate says of it.

The settings give every tensor's name and shape, so a file has nothing that goes unread, and a
certificate is about all of its numbers.
"""

import hashlib
import importlib
import json

import numpy as np
from arithmetic import fields, integers, require

BIASES = (*(f"blocks.0.attn.b_{name}" for name in "QKVO"), "unembed.b_U")
BUFFERS = ("blocks.0.attn.IGNORE", "x_embed", "y_embed", "mlp.basis")
MASK = "blocks.0.attn.mask"  # of no effect at the last position, whose row is full
PRECISIONS = ("float16", "float32", "float64")


def read_tensors(path):
    """The tensors of a file by algophase's names and axes."""
    if path.suffix == ".safetensors":
        return importlib.import_module("safetensors.numpy").load_file(path)
    content = importlib.import_module("torch").load(path, weights_only=True, map_location="cpu")
    tensors = {}
    for name, tensor in content.get("model", content).items():
        value, ours = tensor.detach().numpy(), {"W_x": "first", "W_y": "second"}.get(name, name)
        require(name != MASK or value[-1].all(), f"{name} hides a position")
        require(name not in BIASES or not value.any(), f"{name} is not zero")
        require(ours not in tensors, f"{name} is there twice")
        if name not in (*BIASES, *BUFFERS, MASK):
            tensors[ours] = value
    if "mlp.W_out" in tensors:  # transposed; without an embedding, the first layer is the table
        table = "embed.W_E" if "embed.W_E" in tensors else "mlp.W_in"
        ours = {"mlp.W_in": "W", "mlp.W_out": "W_U", table: "first"}
        return {ours[name]: value.T for name, value in tensors.items()}
    out = tensors.get("blocks.0.attn.W_O")
    if out is not None and out.ndim == 2:  # transposed, as the paper's authors keep them
        for name in set(tensors) - {"pos_embed.W_pos", "unembed.W_U"}:
            value = tensors[name]
            tensors[name] = value.swapaxes(-2, -1) if value.ndim > 1 else value
        heads = len(tensors["blocks.0.attn.W_Q"])
        tensors["blocks.0.attn.W_O"] = out.T.reshape(heads, -1, len(out))
    return tensors


def weights_digest(tensors):
    digest = hashlib.sha256()
    for name, values in sorted(tensors.items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def transformer_shapes(settings, tokens, positions, outputs):
    names = ("kind", "width", "layers", "heads", "activation", "attention_rate")
    _, d, layers, heads, _, _ = fields(settings, *names)
    require(integers([layers, d, heads])[0] == 1, "it has other layers")
    size, hidden = d // heads, 4 * d
    shapes = {f"blocks.0.attn.W_{name}": (heads, d, size) for name in "QKV"}
    shapes |= {"embed.W_E": (tokens, d), "pos_embed.W_pos": (positions, d)}
    shapes |= {"blocks.0.attn.W_O": (heads, size, d), "unembed.W_U": (d, outputs)}
    shapes |= {"blocks.0.mlp.W_in": (d, hidden), "blocks.0.mlp.b_in": (hidden,)}
    return shapes | {"blocks.0.mlp.W_out": (hidden, d), "blocks.0.mlp.b_out": (d,)}


def linear_shapes(settings, n):
    _, model, width, hidden = fields(settings, "kind", "model", "width", "hidden")
    tables = {"alpha-prime": ("embed1", "embed2")}.get(model, ("embed",))
    integers([width, hidden])
    table = (n, width // 2 if model == "delta" else width)
    shapes = {f"{name}.weight": table for name in tables}
    shapes |= {"l1.weight": (hidden, width), "l1.bias": (hidden,), "unembed.weight": (n, hidden)}
    if model in ("beta", "gamma"):
        shapes |= {"l2.weight": (hidden, hidden), "l2.bias": (hidden,)}
    known = ("alpha", "alpha-prime", "beta", "gamma", "delta")
    require(model in known, "it is another linear model")
    return shapes


def mlp_shapes(settings, n):
    layer = {"layer": True} | settings
    names = ("kind", "width", "hidden", "join", "activation", "own_tables", "one_hot", "layer")
    _, width, hidden, join, _, own_tables, _, has_layer = fields(layer, *names)
    integers([width, hidden])
    joined = 2 * width if join == "concatenate" else width
    shapes = {"first": (n, width), "W_U": (hidden if has_layer else joined, n)}
    shapes |= {"second": (n, width)} if own_tables else {}
    return shapes | ({"W": (joined, hidden)} if has_layer else {})


def require_all_tensors(tensors, network, n):
    """That the tensors are those of the settings, of n numbers, and no others."""
    settings, equals = network["settings"], network["equals_sign"]
    separate = network["separate_vocabularies"]
    require(type(equals) is type(separate) is bool and type(n) is int, "a setting is no setting")
    if settings["kind"] == "transformer":
        outputs = tensors["unembed.W_U"].shape[-1]
        tokens = n * (1 + separate) + equals
        require(outputs in (n, tokens), "it has outputs for other numbers")
        shapes = transformer_shapes(settings, tokens, 2 + equals, outputs)
    else:
        require(not equals and not separate, "such a network reads no tokens")
        shapes = {"linear": linear_shapes, "mlp": mlp_shapes}[settings["kind"]](settings, n)
    require({name: value.shape for name, value in tensors.items()} == shapes, "tensors are others")
    precise = all(value.dtype.name in PRECISIONS for value in tensors.values())
    require(precise, f"tensors are not {', '.join(PRECISIONS)}")


def stated_answers(task, n):
    """The right answers by a description; None where it names a group."""
    if task.get("group"):
        return None
    a, b = np.ogrid[:n, :n]
    if task.get("relabeling"):
        first, second, *third = (np.array(names) for names in task["relabeling"])
        sums = (first[:, None] + second) % n
        return third[0].argsort()[sums] if third else sums
    operations = {"add": (a + b) % n, "subtract": (a - b) % n}
    return (operations | {"multiply": (a + 1) * (b + 1) % (n + 1) - 1})[
        task.get("operation", "add")
    ]


def on_its_word(path, network, group, right):
    """What is taken on the certificate's word. A description beside a file of ours must state the
    same settings and the same answers.
    """
    if path.suffix != ".safetensors":
        return "; on its word: the settings, the group"
    entries = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    digest, task = hashlib.sha256(path.read_bytes()).hexdigest(), entries["task"]
    require(entries["tensors_sha256"] == digest, "the description is of another file")
    stated = [entries["network"], task["separate_vocabularies"], task["equals_sign"]]
    names = ("settings", "separate_vocabularies", "equals_sign")
    require(stated == [network[name] for name in names], "the network's description is another")
    answers, n = stated_answers(task, group["order"]), len(right)
    if answers is None:
        require(group["table"] is not None, "the description names a group")
        return "; on its word: the group's table"
    require(task.get("modulus", n) == n and (answers == right).all(), "the answers are others")
    return ""
