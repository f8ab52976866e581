"""What units read and what reaches the outputs, in balls: a network without a residual stream
(`Tables`), and a transformer of one layer. Both have the units' matrix to the logits as `readout`.
"""

import numpy as np
from arithmetic import activated, mapped, matrix, require, times
from flint import arb, arb_mat


class Tables:
    """A network without a residual stream: units read a table of each operand."""

    def __init__(self, weights, network, n):
        self.n = n
        settings = network["settings"]
        model, join = settings.get("model"), settings.get("join", "add")
        self.activation = settings.get("activation", "relu")

        # what the units, or a layer before them, read of each operand
        names = ("first", "embed.weight", "embed1.weight")
        first = next(weights[name] for name in names if name in weights)
        second = weights.get("second", weights.get("embed2.weight", first))
        both = [matrix(first), matrix(second)]
        into = weights["l1.weight"].T if model else weights.get("W")
        can_join = {"add": True, "concatenate": into is not None, "multiply": into is None}
        require(can_join[join], "embeddings are joined in another way")
        if into is not None:
            half = first.shape[1] if join == "concatenate" or model == "delta" else 0
            parts = matrix(into[: half or None]), matrix(into[half:])
            both = [times(table, part) for table, part in zip(both, parts, strict=True)]
        biases = {"gamma": 2, None: 0}.get(model, 1)  # how many operands have one
        for operand in range(biases):
            both[operand] = both[operand] + matrix([weights["l1.bias"]] * n)
        self.first, self.second = both

        self.readout = matrix(weights["unembed.weight"].T if model else weights["W_U"])
        self.layer = None
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
        self.n = n
        settings = network["settings"]
        self.activation = settings["activation"]
        rate = settings["attention_rate"]
        require(type(rate) in (int, float) and 0 <= rate <= 1, "it has no such attention rate")

        table, places = weights["embed.W_E"], weights["pos_embed.W_pos"]
        second = n if network["separate_vocabularies"] else 0
        chosen = [range(n), range(second, second + n), [len(table) - 1]]
        self.chosen = chosen[: 3 if network["equals_sign"] else 2]
        self.rows = matrix(np.concatenate([table, places[: len(self.chosen)]]))

        query, key, value, out = (weights[f"blocks.0.attn.W_{name}"] for name in "QKVO")
        if rate == 0:  # all heads read alike, as one head of all
            value = np.concatenate(value, axis=1)[None]
            out = np.concatenate(out)[None]
        self.out = [matrix(x) for x in out]
        self.values = [times(self.rows, matrix(x)) for x in value]
        self.patterns = [[[arb(1)] * n * n] * len(self.chosen)]
        if rate:
            heads = zip(query, key, strict=True)
            self.patterns = [self.pattern(matrix(q), matrix(k), arb(rate)) for q, k in heads]

        self.into, w_out = (matrix(weights[f"blocks.0.mlp.W_{name}"]) for name in ("in", "out"))
        self.biases, bias = (matrix(weights[f"blocks.0.mlp.b_{name}"]) for name in ("in", "out"))
        self.unembed = matrix(weights["unembed.W_U"])
        self.readout = times(w_out, self.unembed)
        self.past_bias = times(bias, self.unembed)

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
        keys = self.at_positions(times(self.rows, key))
        size = arb(key.ncols()).sqrt()
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
        every = range(self.n)
        heads = zip(self.values, self.out, strict=True)
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
