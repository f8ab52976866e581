"""Check a certificate of a network: python certificates/check.py NETWORK certificate.json

It computes everything again from the network's tensors, without algophase, and prints *proved*
(exit code 0), *not proved* (1) or *false* (2). What is proved is about the exact real function of
the stored weights. `arithmetic.py` bounds every rounding, `check_program.py` computes the distilled
program, `check_compact.py` checks the proof for less than brute force. docs/certificates.md
explains all of it.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from arithmetic import ACTIVATIONS, Ball, floats, softmax
from check_compact import count_operations, prove_compact
from check_program import program_logits
from flint import arb

BIASES = ("b_Q", "b_K", "b_V", "b_O", "b_U")
COMPACT_CLAIMS = ("proved_right", "operations", "brute_force_operations", "operations_share")
UNUSED = (*BIASES, "mask", "IGNORE", "x_embed", "y_embed", "basis")


class Rejected(Exception):
    """Its arguments: why, and 1 for not proved or 2 for false."""


def require(condition, words, verdict=1):
    if not condition:
        raise Rejected(words, verdict)


def read_tensors(path):
    """The tensors of a file by algophase's names and axes."""
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return load_file(path)
    import torch

    content = torch.load(path, weights_only=True, map_location="cpu")
    content = content.get("model", content)
    tensors = {name: value.numpy() for name, value in content.items()}
    for name in [name for name in tensors if name.rsplit(".", 1)[-1] in UNUSED]:
        value = tensors.pop(name)
        require(name.rsplit(".", 1)[-1] not in BIASES or not value.any(), f"{name} is not zero")
    if "W_x" in tensors:
        return tensors | {"first": tensors.pop("W_x"), "second": tensors.pop("W_y")}
    if "mlp.W_out" in tensors:  # transposed; without an embedding, the first layer is the table
        table = "embed.W_E" if "embed.W_E" in tensors else "mlp.W_in"
        ours = {"mlp.W_in": "W", "mlp.W_out": "W_U", table: "first"}
        return {ours[name]: value.T for name, value in tensors.items()}
    out = tensors.get("blocks.0.attn.W_O")
    if out is not None and out.ndim == 2:  # transposed, as the paper's authors keep them
        for name, value in tensors.items():
            if name not in ("pos_embed.W_pos", "unembed.W_U"):
                tensors[name] = value.T if value.ndim < 3 else value.swapaxes(1, 2)
        heads = len(tensors["blocks.0.attn.W_Q"])
        tensors["blocks.0.attn.W_O"] = out.T.reshape(heads, -1, len(out))
    return tensors


def weights_digest(tensors):
    digest = hashlib.sha256()
    for name, values in sorted(tensors.items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def network_form(weights, network, n):
    """The read-out (units, outputs); a function from rows of the first operand to the last hidden
    units (rows, n, units) and what reaches the outputs past them; a transformer's `written`.
    """
    settings = network["settings"]
    if settings["kind"] == "transformer":
        return transformer_form(weights, network, n)
    names = ("first", "embed.weight", "embed1.weight")
    first = next(weights[name] for name in names if name in weights)
    second = weights.get("second", weights.get("embed2.weight", first))
    activation = ACTIVATIONS[settings.get("activation", "relu")]
    join, model = settings.get("join"), settings.get("model")
    into = weights["l1.weight"].T if model else weights.get("W")
    readout = weights["unembed.weight"].T if model else weights["W_U"]
    if join == "multiply" and into is None:
        return readout, lambda rows: (activation(first[rows, None] * second[None]), None), None
    require(join != "multiply" and (into is not None or join == "add"), "joined in another way")
    if into is not None:
        half = first.shape[1] if join == "concatenate" or model == "delta" else 0
        first, second = first @ into[: half or None], second @ into[half:]
    if model:
        first = first + weights["l1.bias"]
        second = second + weights["l1.bias"] if model == "gamma" else second

    def of_rows(rows):
        hidden = activation(first[rows, None] + second[None])
        if "l2.weight" in weights:
            hidden = activation(hidden @ weights["l2.weight"].T + weights["l2.bias"])
        return hidden, None

    return readout, of_rows, None


def transformer_form(weights, network, n):
    settings, equals_sign = network["settings"], network["equals_sign"]
    require(settings["layers"] == 1, "only transformers of one layer are known")
    table, places = weights["embed.W_E"], weights["pos_embed.W_pos"]
    second = table[n : 2 * n] if network["separate_vocabularies"] else table[:n]
    tokens = [table[:n] + places[0], second + places[1]]
    tokens += [table[-1:] + places[2]] if equals_sign else []
    query, key, value, out = (weights[f"blocks.0.attn.W_{name}"] for name in "QKVO")
    require(0 <= settings["attention_rate"] <= 1, "the attention rate is not a share")
    heads, rate, unembed = range(len(out.mid)), settings["attention_rate"], weights["unembed.W_U"]
    root, patterns = floats([1 / arb(key.shape[2]).sqrt()]), []
    for h in heads:
        asks, offers = tokens[-1] @ query[h], [token @ key[h] for token in tokens]
        scores = [offer @ asks.T for offer in offers]
        scores[1] = scores[1].T if equals_sign else (offers[1] * asks).sum()[None]
        shares = softmax([score * root for score in scores])
        patterns.append([Ball(rate) * share + (Ball(1.0) - Ball(rate)) for share in shares])

    def written(matrix, bias=0.0, by_token=lambda values: values):
        """A function from rows of pairs to the stream at the last position times a matrix, plus a
        bias; or, with a norm for `by_token`, to what is not below the norm of that product.
        """
        own = by_token(tokens[-1] @ matrix) + (bias if isinstance(bias, Ball) else Ball(bias))
        carried = [[by_token(t @ value[h] @ (out[h] @ matrix)) for t in tokens] for h in heads]

        def of_rows(rows):
            total = own[None]
            for h in heads:
                for place, values in enumerate(carried[h]):
                    by_pair = values[rows, None] if place == 0 else values[None]
                    total = total + patterns[h][place][rows][..., None] * by_pair
            return total

        return of_rows

    into, b_in, w_out, b_out = (
        weights[f"blocks.0.mlp.{name}"] for name in ("W_in", "b_in", "W_out", "b_out")
    )
    hidden, direct = written(into, b_in), written(unembed, b_out @ unembed)
    activation = ACTIVATIONS[settings["activation"]]
    return w_out @ unembed, lambda rows: (activation(hidden(rows)), direct(rows)), written


def right_answers(group, task):
    """(n, n): the right answer of every pair by the certificate's group; and which element each
    number is as first operand, second operand and answer.
    """
    n, every = group["order"], np.arange(group["order"])
    elements = [np.array(names) for names in group["elements"] or [every] * 3]
    are_permutations = all(np.array_equal(np.sort(names), every) for names in elements)
    table = np.array(group["table"] or (every[:, None] + every) % n)
    is_latin = all((np.sort(side, axis=1) == every).all() for side in (table, table.T))
    require(len(elements) == 3 and are_permutations and is_latin, "the group is not one")
    associative = all(np.array_equal(table[table[x]], table[x][table]) for x in every)
    require(associative, "the group's table is not associative")
    said = [task.get("group"), task.get("relabeling"), task.get("operation", "add") != "add"]
    plain = group["table"] is None and group["elements"] is None
    require(not task or plain != any(said), "the network's description has another task")
    require(task.get("modulus", n) == n, "the network's description has another modulus")
    return elements[2].argsort()[table[elements[0][:, None], elements[1]]], elements


def sizes(x):
    """Of logits without their means: lowest and highest sum of squares, and largest size."""
    x = x - (x.sum() * floats([1 / arb(x.shape[-1])]))[..., None]
    low, high = np.maximum(np.maximum(x.low, -x.high), 0), np.maximum(-x.low, x.high)
    sums = [(low**2).sum() * (1 - 1e-10), (high**2).sum() * (1 + 1e-10)]
    return np.array(sums), np.array([low.max(), high.max()])


def within(claim, low, high, words):
    """A claimed enclosure must hold ours, and is false where the two are apart."""
    require(claim[0] <= high and low <= claim[1], f"{words} is not within {claim}", 2)
    require(claim[0] <= low <= high <= claim[1], f"{words} is not shown to be within {claim}")


def described(path, network):
    """The task that a description beside a file of ours states; its settings must be the same."""
    if path.suffix != ".safetensors":
        return {}
    entries = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    task = entries["task"]
    stated = [entries["network"], task["separate_vocabularies"], task["equals_sign"]]
    names = ("settings", "separate_vocabularies", "equals_sign")
    same = stated == [network[name] for name in names]
    require(same, "the network's description has other settings")
    return task


def check(path, text):
    entries = json.loads(text, object_pairs_hook=without_repeats, parse_constant=no_number)
    is_known = entries["format"] == "algophase-certificate" and entries["version"] == 1
    require(is_known and type(entries["version"]) is int, "it is not a certificate of version 1")
    tensors, network, n = read_tensors(path), entries["network"], entries["group"]["order"]
    require(network["weights_sha256"] == weights_digest(tensors), "it is of another network")
    right, elements = right_answers(entries["group"], described(path, network))
    weights = {name: Ball(values) for name, values in tensors.items()}
    readout, of_rows, written = network_form(weights, network, n)
    program = None
    if entries["program"] is not None:
        program = program_logits(entries["program"], entries["group"]["table"], n, elements)
    counts, largest, whole, left = np.zeros(2, int), np.zeros(2), np.zeros(2), np.zeros(2)
    height = max(1, 2_000_000 // (n * sum(readout.shape)))
    slabs = [slice(start, start + height) for start in range(0, n, height)]
    for rows in slabs:
        hidden, direct = of_rows(rows)
        logits = hidden @ readout if direct is None else hidden @ readout + direct
        answers = right[rows][..., None]
        is_other = np.arange(logits.shape[-1]) != answers
        low, high = (np.take_along_axis(x, answers, -1)[..., 0] for x in (logits.low, logits.high))
        is_right = low > np.where(is_other, logits.high, -np.inf).max(axis=-1)
        is_wrong = np.where(is_other, logits.low, -np.inf).max(axis=-1) > high
        counts += [is_right.sum(), is_wrong.sum()]
        if program:
            error, largest_here = sizes(logits[..., :n] - program(rows))
            whole, left = whole + sizes(logits[..., :n])[0], left + error
            largest = np.maximum(largest, largest_here)
    pairs, (proved_right, proved_wrong) = n * n, counts.tolist()
    results = [pairs, proved_right, proved_wrong, pairs - proved_right - proved_wrong]
    claimed = [entries[name] for name in ("pairs", "proved_right", "proved_wrong", "undecided")]
    require(all(type(x) is int and x >= 0 for x in claimed), "counts are not counts")
    refuted = claimed[1] > pairs - proved_wrong or claimed[2] > pairs - proved_right
    require(not refuted, f"{proved_right} pairs are right, {proved_wrong} wrong", 2)
    require(claimed == results, f"pairs, right, wrong, undecided are {results}")
    if program:
        within(entries["largest_difference"], *largest, "largest difference")
        within(entries["share_explained"], *(1 - left / whole[::-1])[::-1], "share explained")
    else:
        nothing = entries["largest_difference"] is entries["share_explained"] is None
        require(nothing, "a difference from no program")
    if entries["compact"] is not None:
        form = (readout, of_rows, written)
        least = prove_compact(entries["compact"]["advice"], form, weights, network, right, slabs)
        operations = count_operations(entries["compact"]["advice"], weights, network, n)
        claims = [entries["compact"][name] for name in COMPACT_CLAIMS]
        require(all(type(x) is int for x in claims[:3]), "counts are not counts")
        require(claims[0] <= pairs - proved_wrong, f"{proved_wrong} pairs are wrong", 2)
        shown = [least, *operations, round(operations[0] / operations[1], 4)]
        require(claims == shown, f"{', '.join(COMPACT_CLAIMS)} are {shown}")
    blank = text.replace(entries["digest"], "0" * 64, 1)
    digest = hashlib.sha256(blank.encode()).hexdigest()
    require(digest == entries["digest"], "the certificate does not match its own digest")
    return f"{proved_right} of {pairs} pairs right, {proved_wrong} wrong"


def no_number(name):
    raise Rejected(f"{name} is not a number", 1)


def without_repeats(items):
    require(len(dict(items)) == len(items), "a name stands twice")
    return dict(items)


def main(path, certificate):
    try:
        with np.errstate(all="ignore"):
            text = Path(certificate).read_text(encoding="utf-8")
            verdict, words = 0, check(Path(path), text)
    except Rejected as reason:
        words, verdict = reason.args
    except Exception as error:  # whatever a damaged or hostile file causes
        verdict, words = 1, f"{type(error).__name__}: {str(error)[:200]}"
    print(f"{('proved', 'not proved', 'false')[verdict]}: {words}")
    return verdict


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
