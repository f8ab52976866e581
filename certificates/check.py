"""Check a certificate of a network: python certificates/check.py NETWORK certificate.json

It computes everything again from the network's tensors, without algophase, and prints *proved*
(exit code 0), *not proved* (1) or *false* (2). All arithmetic is ball arithmetic of FLINT
(`arithmetic.py`), so what is proved is about the exact real function of the stored weights.
`check_network.py` reads the network, `check_program.py` has the group and the distilled program,
`check_compact.py` the proof for less than brute force. docs/certificates.md explains all of it.
"""

import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np
from arithmetic import activated, fields, integers, mapped, matrix, require, spent, times
from check_compact import Compact
from check_network import on_its_word, read_tensors, require_all_tensors, weights_digest
from check_program import group_of, program_of
from flint import arb, arb_mat

ENTRIES = ("format", "version", "digest", "network", "group", "program", "compact", "rests_on")
COUNTS = ("pairs", "proved_right", "proved_wrong", "undecided")
ENCLOSURES = ("largest_difference", "share_explained")


class Refuted(Exception):
    """The certificate is false. After any other exception it is not proved."""


class Tables:
    """A network without a residual stream: units read a table of each operand."""

    def __init__(self, weights, network, n):
        settings, self.n, self.layer = network["settings"], n, None
        names = ("first", "embed.weight", "embed1.weight")
        first = next(weights[name] for name in names if name in weights)
        second = weights.get("second", weights.get("embed2.weight", first))
        model, join = settings.get("model"), settings.get("join", "add")
        into = weights["l1.weight"].T if model else weights.get("W")
        known = {"add": True, "concatenate": into is not None, "multiply": into is None}
        require(known[join], "embeddings are joined in another way")
        self.activation, both = settings.get("activation", "relu"), [matrix(first), matrix(second)]
        if into is not None:
            half = first.shape[1] if join == "concatenate" or model == "delta" else 0
            parts = matrix(into[: half or None]), matrix(into[half:])
            both = [times(table, part) for table, part in zip(both, parts, strict=True)]
        for operand in range({"gamma": 2, None: 0}.get(model, 1)):
            both[operand] = both[operand] + matrix([weights["l1.bias"]] * n)
        self.first, self.second = both
        self.readout = matrix(weights["unembed.weight"].T if model else weights["W_U"])
        if "l2.weight" in weights:
            self.layer = matrix(weights["l2.weight"].T), matrix([weights["l2.bias"]] * n)
        self.join = arb.__mul__ if join == "multiply" else arb.__add__
        self.reads_sums = self.layer is None and join != "multiply"

    def read(self, a):
        """What units read of the pairs (a, b), for all b."""
        joined = mapped(self.join, arb_mat([self.first.tolist()[a]] * self.n), self.second)
        if self.layer is None:
            return joined
        return times(activated(joined, "relu"), self.layer[0]) + self.layer[1]

    def past(self, _):
        """What reaches the outputs past the units."""
        return arb_mat(self.n, self.readout.ncols())

    def prepare(self):
        pass


class Transformer:
    """The residual stream x(a, b) of a transformer at the last position, before its units."""

    def __init__(self, weights, network, n):
        settings, self.n = network["settings"], n
        rate, self.activation = settings["attention_rate"], settings["activation"]
        require(type(rate) in (int, float) and 0 <= rate <= 1, "it has no such attention rate")
        table, places = weights["embed.W_E"], weights["pos_embed.W_pos"]
        second = n if network["separate_vocabularies"] else 0
        chosen = [range(n), range(second, second + n), [len(table) - 1]]
        self.chosen = chosen[: 3 if network["equals_sign"] else 2]
        self.rows = matrix(np.concatenate([table, places[: len(self.chosen)]]))
        query, key, value, out = (weights[f"blocks.0.attn.W_{name}"] for name in "QKVO")
        if rate == 0:  # all heads read alike, as one head of all
            value, out = np.concatenate(value, axis=1)[None], np.concatenate(out)[None]
        self.out = [matrix(x) for x in out]
        self.values = [times(self.rows, matrix(x)) for x in value]
        self.patterns = [[[arb(1)] * n * n] * len(self.chosen)]
        if rate:
            heads = zip(query, key, strict=True)
            self.patterns = [self.pattern(matrix(q), matrix(k), arb(rate)) for q, k in heads]
        self.into, w_out = (matrix(weights[f"blocks.0.mlp.W_{name}"]) for name in ("in", "out"))
        self.biases, bias = (matrix(weights[f"blocks.0.mlp.b_{name}"]) for name in ("in", "out"))
        self.unembed = matrix(weights["unembed.W_U"])
        self.readout, self.past_bias = times(w_out, self.unembed), times(bias, self.unembed)

    def at_positions(self, products):
        """For each position a row for each token there: what both have, added."""
        rows = products.tolist()
        places = rows[len(rows) - len(self.chosen) :]
        tables = []
        for tokens, place in zip(self.chosen, places, strict=True):
            tables.append([[x + y for x, y in zip(rows[t], place, strict=True)] for t in tokens])
        return tables

    def pattern(self, query, key, rate):
        """For each position how much of it the pairs read: rate softmax + 1 - rate."""
        asks = arb_mat(self.at_positions(times(self.rows, query))[-1]).transpose()
        keys, size = self.at_positions(times(self.rows, key)), arb(key.ncols()).sqrt()
        scores = [times(arb_mat(offers), asks).tolist() for offers in keys]
        shares = [[] for _ in scores]
        for a, b in np.ndindex(self.n, self.n):
            asked = b if len(scores) == 2 else 0  # the last token, unless it is the equals sign
            exps = [(one[(a, b, 0)[j]][asked] / size).exp() for j, one in enumerate(scores)]
            for share, one in zip(shares, exps, strict=True):
                share.append(rate * one / sum(exps) + 1 - rate)
        return shares

    def written(self, through, bias, by_row=list):
        """A function from a to x(a, b) times a matrix, plus a bias, for all b. through: of rows,
        their product with the matrix. With a norm for `by_row`, to what is not below its norm.
        """
        every, heads = range(self.n), zip(self.values, self.out, strict=True)
        carried = [self.at_positions(times(value, through(out))) for value, out in heads]
        tables = []  # by position, then token: what each head carries from there
        for by_head in zip(*carried, strict=True):
            tokens = zip(*by_head, strict=True)
            tables.append([arb_mat([by_row(row) for row in token]) for token in tokens])
        last = [by_row(row) for row in self.at_positions(through(self.rows))[-1]]
        own = [arb_mat([last[b % len(last)]]) + bias for b in every]

        def of_first(a):
            result = []
            for b in every:
                row = own[b]
                for j, by_token in enumerate(tables):
                    shares = arb_mat([[head[j][a * self.n + b] for head in self.patterns]])
                    row = row + times(shares, by_token[(a, b, 0)[j]])
                result.append(row.entries())
            return arb_mat(result)

        return of_first

    def prepare(self):
        """For brute force: units and logits past them by tables of tokens."""
        self.read = self.written(lambda rows: times(rows, self.into), self.biases)
        self.past = self.written(lambda rows: times(rows, self.unembed), self.past_bias)


def spread(rows):
    """Of logits without their means: the sum of squares, and the largest size."""
    squares = largest = arb(0)
    for row in rows:
        mean = sum(row, arb(0)) / len(row)
        for x in row:
            squares += (x - mean) * (x - mean)
            largest = largest.max(abs(x - mean))
    return squares, largest


def within(claim, value, words):
    """A claimed enclosure must hold ours, and is false where the two are apart."""
    numbers = type(claim) is list and all(type(bound) is float for bound in claim)
    require(numbers and all(map(math.isfinite, claim)), f"{words} has no numbers")
    low, high = (arb(bound) for bound in claim)
    require(not (value < low or value > high), f"{words} is not within {claim}", Refuted)
    require(low <= value and value <= high, f"{words} is not shown to be within {claim}")


def check(path, text):
    entries = json.loads(text, object_pairs_hook=without_repeats, parse_constant=no_number)
    fields(entries, *ENTRIES, *COUNTS, *ENCLOSURES)
    known = [entries["format"], entries["version"], type(entries["version"])]
    require(known == ["algophase-certificate", 2, int], "it is not a certificate of version 2")
    network, group, claimed = entries["network"], entries["group"], entries["compact"]
    fields(network, "id", "weights_sha256", "settings", "separate_vocabularies", "equals_sign")
    tensors, n = read_tensors(path), group["order"]
    require(network["weights_sha256"] == weights_digest(tensors), "it is of another network")
    require_all_tensors(tensors, network, n)
    table, inverse, elements = group_of(group)
    answers = elements[2].argsort()[table[elements[0][:, None], elements[1]]]
    taken, right = on_its_word(path, network, group, answers), answers.tolist()
    spent()
    kind = Transformer if network["settings"]["kind"] == "transformer" else Tables
    form = kind(tensors, network, n)
    shared = spent()
    form.prepare()
    brute, work, least = shared + spent(), shared, 0
    names = ("proved_right", "operations", "brute_force_operations", "operations_share")
    if claimed is not None:
        *claims_of_compact, advice = fields(claimed, *names, "advice")
    compact = None if claimed is None else Compact(advice, form)
    work += spent()
    terms, program = entries["program"], None
    if terms is not None:
        require(type(terms) is list and terms, "the program has no terms")
        program = program_of(terms, table, inverse, elements)
    counts, largest, whole, left = [0, 0], arb(0), arb(0), arb(0)
    for a in range(n):
        units = activated(form.read(a), form.activation)
        logits = (times(units, form.readout) + form.past(a)).tolist()
        brute += spent()
        for answer, row in zip(right[a], logits, strict=True):
            others = row[:answer] + row[answer + 1 :]
            counts[0] += all(row[answer] > other for other in others)
            counts[1] += any(other > row[answer] for other in others)
        if program:
            labels = [row[:n] for row in logits]
            squares, size = spread((arb_mat(labels) - program(a)).tolist())
            whole, left, largest = whole + spread(labels)[0], left + squares, largest.max(size)
        if compact:
            spent()
            least += compact.proved(a, right[a], logits)
            work += spent()
    results = [n * n, *counts, n * n - sum(counts)]
    claims = integers([entries[name] for name in COUNTS])
    refuted = claims[1] > n * n - counts[1] or claims[2] > n * n - counts[0]
    require(not refuted, f"{counts[0]} pairs are right, {counts[1]} wrong", Refuted)
    require(claims == results, f"pairs, right, wrong, undecided are {results}")
    if program:
        within(entries["largest_difference"], largest, "largest difference")
        within(entries["share_explained"], 1 - left / whole, "share explained")
    enclosed = [entries["largest_difference"] is None, entries["share_explained"] is None]
    require(program or all(enclosed), "a difference from no program")
    if compact:
        shown = [least, work, brute, round(work / brute, 4)]
        integers(claims_of_compact[:3])
        too_many = claims_of_compact[0] > n * n - counts[1]
        require(not too_many, f"{counts[1]} pairs are wrong", Refuted)
        require(claims_of_compact == shown, f"{', '.join(names)} are {shown}")
    blank = text.replace(entries["digest"], "0" * 64, 1)
    digest = hashlib.sha256(blank.encode()).hexdigest()
    require(digest == entries["digest"], "the certificate does not match its own digest")
    return f"{counts[0]} of {n * n} pairs right, {counts[1]} wrong{taken}"


def no_number(name):
    raise ValueError(f"{name} is not a number")


def without_repeats(items):
    require(len(dict(items)) == len(items), "a name stands twice")
    return dict(items)


def main(path, certificate):
    try:
        text = Path(certificate).read_text(encoding="utf-8")
        verdict, words = 0, check(Path(path), text)
    except Refuted as error:
        verdict, words = 2, str(error)
    except Exception as error:  # whatever a damaged or hostile file causes
        verdict, words = 1, f"{type(error).__name__}: {str(error)[:200]}"
    shown = words.encode("ascii", "backslashreplace").decode()
    print(f"{('proved', 'not proved', 'false')[verdict]}: {shown}")
    return verdict


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__.splitlines()[0])
