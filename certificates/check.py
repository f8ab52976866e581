"""Check a certificate of a network: python certificates/check.py NETWORK certificate.json

It computes everything again from the network's tensors, without algophase, and prints *proved*
(exit code 0), *not proved* (1) or *false* (2). What is proved is about the exact real function of
the stored weights. Where float64 rounds, a theorem bounds it (Higham 2002, theorem 2.3 and section
3.5); exp, erf, cos and roots are ball arithmetic of FLINT. docs/certificates.md explains it.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from flint import arb, fmpq

U, TINY = 2.0**-53, 2.0**-1022
BIASES = ("b_Q", "b_K", "b_V", "b_O", "b_U")
UNUSED = (*BIASES, "mask", "IGNORE", "x_embed", "y_embed", "basis")


class Rejected(Exception):
    """Its arguments: why, and 1 for not proved or 2 for false."""


def require(condition, words, verdict=1):
    if not condition:
        raise Rejected(words, verdict)


class Ball:
    """All arrays x with |x - mid| <= rad, entry by entry."""

    def __init__(self, mid, rad=0.0):
        self.mid = np.asarray(mid, dtype=np.float64)
        self.rad = np.broadcast_to(np.asarray(rad, dtype=np.float64), self.mid.shape)
        self.shape = self.mid.shape

    def __getitem__(self, index):
        return Ball(self.mid[index], self.rad[index])

    def __add__(self, other):
        mid = self.mid + other.mid
        return Ball(mid, widened(self.rad + other.rad + U * np.abs(mid), 3))

    def __sub__(self, other):
        return self + Ball(-other.mid, other.rad)

    def __mul__(self, other):
        mid = self.mid * other.mid
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        return Ball(mid, widened(rad + U * np.abs(mid), 6))

    def __matmul__(self, other):  # |fl(A B) - A B| <= gamma_n |A| |B|
        terms, size = self.shape[-1], np.abs(other.mid)
        rad = np.abs(self.mid) @ (other.rad + 1.01 * (terms + 1) * U * size)
        if self.rad.any():
            rad = rad + self.rad @ (size + other.rad)
        return Ball(self.mid @ other.mid, widened(rad, terms))

    def sum(self):
        """Over the last axis."""
        return (self @ Ball(np.ones((self.shape[-1], 1))))[..., 0]

    @property
    def T(self):
        return Ball(self.mid.T, self.rad.T)

    @property
    def low(self):
        return np.nextafter(self.mid - self.rad, -np.inf)

    @property
    def high(self):
        return np.nextafter(self.mid + self.rad, np.inf)


def widened(rad, terms):
    """A radius, a sum of so many terms that are not negative, with room for its own rounding."""
    return (1 + 4 * (terms + 8) * U) * rad + (terms + 1) * TINY


def floats(balls, shape=()):
    """FLINT's balls as ours."""
    mid = np.array([float(ball.mid()) for ball in balls]).reshape(shape)
    rad = np.array([float(ball.rad()) if ball.is_finite() else np.nan for ball in balls])
    return Ball(mid, widened(rad.reshape(shape) * (1 + 2.0**-40) + 2 * U * np.abs(mid), 2))


def softmax(scores):
    """Each share is 1 / sum over the others of exp(other - own)."""
    shape = np.broadcast_shapes(*(score.shape for score in scores))
    shares = []
    for own in scores:
        total = [arb(1)] * int(np.prod(shape))
        for gap in (other - own for other in scores if other is not own):
            parts = (np.broadcast_to(part, shape).ravel().tolist() for part in (gap.mid, gap.rad))
            total = [so_far + arb(*part).exp() for so_far, *part in zip(total, *parts, strict=True)]
        shares.append(floats([1 / whole for whole in total], shape))
    return shares


def relu(x):
    return Ball(np.maximum(x.mid, 0.0), x.rad)


def gelu(x):
    """x Phi(x), of which no slope is above 1.13."""
    points, half = [arb(value) for value in x.mid.ravel().tolist()], arb(0.5)
    values = floats([t * (1 + (t * half.sqrt()).erf()) * half for t in points], x.shape)
    return Ball(values.mid, widened(values.rad + 1.13 * x.rad, 2))


ACTIVATIONS = {"relu": relu, "gelu": gelu, "square": lambda x: x * x, "none": lambda x: x}


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
    """The read-out (units, outputs), and a function from rows of the first operand to the last
    hidden units (rows, n, units) and what reaches the outputs past them.
    """
    settings = network["settings"]
    if settings["kind"] == "transformer":
        require(settings["layers"] == 1, "only transformers of one layer are known")
        return transformer_form(weights, network, n)
    tables = [
        weights[name] for name in ("first", "embed.weight", "embed1.weight") if name in weights
    ]
    first = tables[0]
    second = weights.get("second", weights.get("embed2.weight", first))
    activation = ACTIVATIONS[settings.get("activation", "relu")]
    join, model = settings.get("join"), settings.get("model")
    into = weights["l1.weight"].T if model else weights.get("W")
    readout = weights["unembed.weight"].T if model else weights["W_U"]
    if join == "multiply":
        require(into is None, "a product before a layer is not known")
        return readout, lambda rows: (activation(first[rows, None] * second[None]), None)
    if into is not None:
        half = first.shape[1] if join == "concatenate" or model == "delta" else 0
        first, second = first @ into[: half or None], second @ into[half:]
    else:
        require(join == "add", "embeddings that are joined need a layer")
    if model:
        first = first + weights["l1.bias"]
        second = second + weights["l1.bias"] if model == "gamma" else second

    def of_rows(rows):
        hidden = activation(first[rows, None] + second[None])
        if "l2.weight" in weights:
            hidden = relu(hidden @ weights["l2.weight"].T + weights["l2.bias"])
        return hidden, None

    return readout, of_rows


def transformer_form(weights, network, n):
    table, places = weights["embed.W_E"], weights["pos_embed.W_pos"]
    second = table[n : 2 * n] if network["separate_vocabularies"] else table[:n]
    tokens = [table[:n] + places[0], second + places[1]]
    if network["equals_sign"]:
        tokens.append(table[-1:] + places[2])
    query, key, value, out = (weights[f"blocks.0.attn.W_{name}"] for name in "QKVO")
    into, b_in, w_out, b_out = (
        weights[f"blocks.0.mlp.{name}"] for name in ("W_in", "b_in", "W_out", "b_out")
    )
    unembed, heads, rate = (
        weights["unembed.W_U"],
        range(len(out.mid)),
        Ball(network["settings"]["attention_rate"]),
    )
    patterns = []
    for h in heads:
        asks, offers = tokens[-1] @ query[h], [token @ key[h] for token in tokens]
        scores = [offer @ asks.T for offer in offers]
        scores[1] = scores[1].T if network["equals_sign"] else (offers[1] * asks).sum()[None]
        root = floats([1 / arb(key.shape[2]).sqrt()])
        shares = softmax([score * root for score in scores])
        patterns.append([rate * share + (Ball(1.0) - rate) for share in shares])

    def written(reads, bias):
        """A function from rows to what the stream at the last position writes by a matrix."""
        own = tokens[-1] @ reads + bias
        carried = [[(token @ value[h]) @ (out[h] @ reads) for token in tokens] for h in heads]

        def of_rows(rows):
            total = own[None]
            for h in heads:
                for place, by_token in enumerate(carried[h]):
                    by_pair = by_token[rows, None] if place == 0 else by_token[None]
                    total = total + patterns[h][place][rows][..., None] * by_pair
            return total

        return of_rows

    activation = ACTIVATIONS[network["settings"]["activation"]]
    hidden, direct = written(into, b_in), written(unembed, b_out @ unembed)
    return w_out @ unembed, lambda rows: (activation(hidden(rows)), direct(rows))


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


def program_logits(program, n, elements):
    """The logits of the distilled program, by rows of the first operand."""
    by_answer = by_sum = Ball(np.zeros((n, n)))  # (d, r) and (s, c)
    for row, k in enumerate(program["frequencies"]):
        turns = [fmpq(2 * k * step, n) for step in range(n)]
        cosine = floats([arb.cos_pi_fmpq(turn) for turn in turns], (n,))
        sine = floats([arb.sin_pi_fmpq(turn) for turn in turns], (n,))
        by_answer = by_answer + Ball(program["profiles"][row])[:, None] * cosine
        if program["sine_profiles"] is not None:
            by_answer = by_answer + Ball(program["sine_profiles"][row])[:, None] * sine
        if program["readout_real"] is not None:
            by_sum = by_sum + cosine[:, None] * Ball(program["readout_real"][row])
            by_sum = by_sum - sine[:, None] * Ball(program["readout_imaginary"][row])
    if program["offsets"] is not None:
        by_sum = by_sum + Ball(program["offsets"])

    def of_rows(rows):
        first, second, answer = elements[0][rows, None], elements[1], elements[2]
        s, d = (first + second) % n, (first - second) % n
        return by_answer[d[..., None], (s[..., None] - answer) % n] + by_sum[s][..., answer]

    return of_rows


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


def check(path, text):
    entries = json.loads(text, object_pairs_hook=without_repeats)
    tensors, network, n = read_tensors(path), entries["network"], entries["group"]["order"]
    require(network["weights_sha256"] == weights_digest(tensors), "it is of another network")
    ours = path.suffix == ".safetensors"
    described = json.loads(path.with_suffix(".json").read_text()) if ours else {}
    task = described.get("task", {})
    told = [described.get("network"), task.get("separate_vocabularies"), task.get("equals_sign")]
    names = ("settings", "separate_vocabularies", "equals_sign")
    same = not ours or told == [network[name] for name in names]
    require(same, "the network's description has other settings")
    right, elements = right_answers(entries["group"], task)
    weights = {name: Ball(values) for name, values in tensors.items()}
    readout, of_rows = network_form(weights, network, n)
    program = entries["program"] and program_logits(entries["program"], n, elements)
    counts, largest, whole, left = np.zeros(2, int), np.zeros(2), np.zeros(2), np.zeros(2)
    height = max(1, 2_000_000 // (n * sum(readout.shape)))
    for rows in (slice(start, start + height) for start in range(0, n, height)):
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
    pairs, claims = n * n, [entries["proved_right"], entries["proved_wrong"]]
    require(all(type(x) is int and x >= 0 for x in claims), "counts are not counts")
    require((claims <= pairs - counts[::-1]).all(), f"{counts} pairs are right and wrong", 2)
    found = [pairs, *counts, pairs - counts.sum()]
    claimed = [entries[name] for name in ("pairs", "proved_right", "proved_wrong", "undecided")]
    require(claimed == found, f"pairs, right, wrong, undecided are {found}")
    if program:
        within(entries["largest_difference"], *largest, "largest difference")
        within(entries["share_explained"], *(1 - left / whole[::-1])[::-1], "share explained")
    else:
        nothing = entries["largest_difference"] is entries["share_explained"] is None
        require(nothing, "a difference from no program")
    blank = text.replace(entries["digest"], "0" * 64, 1)
    digest = hashlib.sha256(blank.encode()).hexdigest()
    require(digest == entries["digest"], "the certificate does not match its own digest")
    return f"{counts[0]} of {pairs} pairs right, {counts[1]} wrong"


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
