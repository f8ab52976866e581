"""A network as one formula that every certificate uses:

    logits(a, b) = act(read(a, b)) W + past(a, b)

read(a, b): what its last hidden units read. W: what they write on the outputs. past: what reaches
the outputs past them, which only transformers have.

Work on a single token is done once per token. A transformer's hidden units read

    x_last W_in + b_in + sum over heads h and positions j of M_hj x_j W_V^h W_O^h W_in,

with M = rate softmax(scores) + 1 - rate, so each pair adds up tables of tokens, weighted by M.
Everything is a `Ball`.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algophase.certificates.balls import (
    ACTIVATIONS,
    Array,
    Ball,
    exact,
    relu,
    side_by_side,
    softmax,
    stacked,
    swapped,
)
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, MLPSettings, TransformerSettings
from algophase.networks import Network

Weights = dict[str, Ball]
# Rows of the first operand -> something of each pair, (rows, p, n).
OfRows = Callable[[slice], Ball]


@dataclass(frozen=True)
class Form:
    """A network in this form.

    order: how many numbers there are; readout: W, (units, outputs); activation: of the last hidden
        units; read, past: as above, for rows of pairs.
    tables: what units read of each operand, (p, units) each, where they read the sum of both.
    table_operations: products that the tables take; layer_operations: products per pair before the
        last hidden units. Both without a stream.
    stream: of a transformer, what its units read from.
    """

    order: int
    readout: Ball
    activation: str
    read: OfRows
    past: OfRows | None = None
    tables: tuple[Ball, Ball] | None = None
    table_operations: int = 0
    layer_operations: int = 0
    stream: "Stream | None" = None

    @property
    def units(self) -> int:
        return self.readout.shape[0]

    @property
    def outputs(self) -> int:
        return self.readout.shape[1]

    def slabs(self, most: int = 4_000_000) -> list[slice]:
        """Rows of pairs whose hidden units and logits are few enough to have at once."""
        per_row = self.order * (self.units + self.outputs)
        height = max(1, most // per_row)
        return [slice(start, start + height) for start in range(0, self.order, height)]

    def logits(self, rows: slice) -> Ball:
        """(rows, p, outputs)"""
        activation = ACTIVATIONS[self.activation]
        units = activation(self.read(rows))
        logits = units @ self.readout
        return logits if self.past is None else logits + self.past(rows)


def form_of(network: Network) -> Form:
    """The form of a network, or an InputError for one that has none."""
    settings = network.settings
    weights = {}
    for name, values in weights_of(network).items():
        weights[name] = exact(values)
    if isinstance(settings, TransformerSettings) and settings.layers == 1:
        return _transformer(network, settings, weights)
    if isinstance(settings, LinearSettings):
        return _linear(network, settings, weights)
    if isinstance(settings, MLPSettings):
        return _mlp(network, settings, weights)
    raise InputError(
        f"network {network.id} is {settings.title}; a certificate can be made for a transformer "
        "of one layer without biases and layer norm, a linear model, or an MLP of one layer"
    )


def weights_of(network: Network) -> dict[str, np.ndarray]:
    """Its tensors by name, as they are stored."""
    tensors = sorted(network.state_dict().items())
    weights = {}
    for name, tensor in tensors:
        on_cpu = tensor.detach().cpu()
        weights[name] = on_cpu.contiguous().numpy()
    return weights


def weights_sha256(network: Network) -> str:
    """SHA-256 over every tensor, with its name, precision and shape, by name."""
    digest = hashlib.sha256()
    for name, values in weights_of(network).items():
        header = f"{name} {values.dtype} {values.shape}"
        digest.update(header.encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _mlp(network: Network, settings: MLPSettings, weights: Weights) -> Form:
    first = weights["first"]
    second = weights["second"] if settings.own_tables else first
    order, readout = network.task.modulus, weights["W_U"]
    if settings.join == "multiply":
        if settings.layer:
            raise InputError(
                f"network {network.id} multiplies embeddings before a layer; no certificate is "
                "made for that"
            )

        def products(rows: slice) -> Ball:
            return first[rows, None] * second[None]

        return Form(order, readout, settings.activation, products)
    if settings.join == "concatenate" and not settings.layer:
        raise InputError(
            f"network {network.id} concatenates embeddings and has no layer; no certificate is "
            "made for that"
        )
    tables, operations = (first, second), 0
    if settings.layer:
        of_second = settings.width if settings.join == "concatenate" else 0
        into_first = weights["W"][: of_second or None]
        into_second = weights["W"][of_second:]
        tables = first @ into_first, second @ into_second
        operations = 2 * first.mid.size * settings.hidden
    return Form(order, readout, settings.activation, _sums(tables), None, tables, operations)


def _sums(tables: tuple[Ball, Ball]) -> OfRows:
    """What units read that add up a table of each operand."""
    first, second = tables

    def of_rows(rows: slice) -> Ball:
        return first[rows, None] + second[None]

    return of_rows


def _linear(network: Network, settings: LinearSettings, weights: Weights) -> Form:
    own_tables = settings.model == "alpha-prime"
    first = weights["embed1.weight" if own_tables else "embed.weight"]
    second = weights["embed2.weight"] if own_tables else first
    into = _turned(weights["l1.weight"])  # (width, hidden)
    bias = weights["l1.bias"]
    half = settings.width // 2 if settings.model == "delta" else 0
    into_first, into_second = into[: half or None], into[half:]
    of_first = first @ into_first + bias
    of_second = second @ into_second
    if settings.model == "gamma":  # L_1(x_1) + L_1(x_2): the bias counts twice
        of_second = of_second + bias
    tables = (of_first, of_second)
    sums = _sums(tables)
    order, hidden = network.task.modulus, settings.hidden
    readout = _turned(weights["unembed.weight"])
    operations = 2 * first.mid.size * hidden
    if "l2.weight" not in weights:
        return Form(order, readout, "relu", sums, None, tables, operations)
    between = _turned(weights["l2.weight"])

    def second_layer(rows: slice) -> Ball:
        units = relu(sums(rows))
        return units @ between + weights["l2.bias"]

    return Form(order, readout, "relu", second_layer, None, None, operations, hidden * hidden)


def _turned(matrix: Ball) -> Ball:
    return Ball(matrix.mid.T, matrix.rad.T)


def _transformer(network: Network, settings: TransformerSettings, weights: Weights) -> Form:
    task, p = network.task, network.task.modulus
    table, positions = weights["embed.W_E"], weights["pos_embed.W_pos"]
    first = table[:p]
    second = table[p : 2 * p] if task.separate_vocabularies else first
    tokens = [first + positions[0], second + positions[1]]
    if task.equals_sign:
        equals = table[-1:]
        tokens.append(equals + positions[2])
    values, outputs = weights["blocks.0.attn.W_V"], weights["blocks.0.attn.W_O"]
    uniform = settings.attention_rate == 0
    if uniform:  # all heads read alike: they are one head of all
        values, outputs = _as_one_head(values, outputs)
    patterns = _patterns(tokens, settings, weights)
    into_units, biases = weights["blocks.0.mlp.W_in"], weights["blocks.0.mlp.b_in"]
    unembedding = weights["unembed.W_U"]
    past_bias = weights["blocks.0.mlp.b_out"] @ unembedding
    distinct_rows = table.shape[0] + len(tokens)
    stream = Stream(
        p,
        tokens,
        patterns,
        values,
        outputs,
        into_units,
        biases,
        unembedding,
        past_bias,
        uniform,
        distinct_rows,
    )
    readout = weights["blocks.0.mlp.W_out"] @ unembedding
    read = stream.written(stream.into_units, stream.biases)
    past = stream.written(stream.unembedding, stream.past_bias)
    return Form(p, readout, settings.activation, read, past, stream=stream)


def _as_one_head(values: Ball, outputs: Ball) -> tuple[Ball, Ball]:
    """(heads, d, e) -> (1, d, heads e), and (heads, e, d) -> (1, heads e, d)."""
    width = values.shape[1]
    both = []
    for part, axes in ((values, (1, 0, 2)), (outputs, (0, 1, 2))):
        shape = (1, width, -1) if part is values else (1, -1, width)
        mid = part.mid.transpose(axes)
        rad = part.rad.transpose(axes)
        both.append(Ball(mid.reshape(shape), rad.reshape(shape)))
    return both[0], both[1]


@dataclass(frozen=True)
class Stream:
    """The residual stream x(a, b) of a transformer at the last position, before its hidden units.

    tokens: (tokens, d) at each position; patterns: how much the last position reads of each, per
        head, (p or 1, p or 1, heads); values: W_V, (heads, d, e); outputs: W_O, (heads, e, d).
    into_units, biases: W_in and b_in; unembedding, past_bias: W_U, and b_out W_U; uniform: whether
        the attention rate is 0.
    distinct_rows: rows of the embedding and of the positions, of which all tokens are sums.
    """

    order: int
    tokens: list[Ball]
    patterns: list[Ball]
    values: Ball
    outputs: Ball
    into_units: Ball
    biases: Ball
    unembedding: Ball
    past_bias: Ball
    uniform: bool
    distinct_rows: int

    @property
    def heads(self) -> int:
        return self.values.shape[0]

    @property
    def inner_width(self) -> int:
        """Dimensions of all heads."""
        return self.heads * self.values.shape[2]

    @property
    def token_rows(self) -> int:
        """Tokens at all positions."""
        return sum(len(token.mid) for token in self.tokens)

    def written(self, matrix: Ball, bias: Ball) -> Callable[[slice], Ball]:
        """x(a, b) times a matrix (d, n), plus a bias (n,), for rows of pairs: (rows, p, n)."""
        own = self.tokens[-1] @ matrix + bias
        carried = [stacked(self._carried(token, matrix)) for token in self.tokens]

        def of_rows(rows: slice) -> Ball:
            height = len(range(self.order)[rows])
            nothing = exact(np.zeros((height, self.order, 1)))
            total = own[None] + nothing
            for position, pattern in enumerate(self.patterns):
                shares = pattern[rows] if pattern.shape[0] > 1 else pattern
                by_head = carried[position]  # (tokens, heads, n)
                if position == 1:  # its token is the second operand
                    by_second = swapped(shares) @ by_head
                    total = total + swapped(by_second)
                else:
                    by_first = by_head[rows] if position == 0 else by_head
                    total = total + shares @ by_first
            return total

        return of_rows

    def lengths(self, matrix: Ball) -> Callable[[slice], Array]:
        """Not below the norm of x(a, b) times a matrix, (rows, p): the norms of its parts, added
        up.
        """
        own = _norms(self.tokens[-1] @ matrix)
        carried = []
        for token in self.tokens:
            by_head = [_norms(values) for values in self._carried(token, matrix)]
            carried.append(np.stack(by_head, axis=-1))  # (tokens, heads)

        def of_rows(rows: slice) -> Array:
            height = len(range(self.order)[rows])
            total = own[None] + np.zeros((height, self.order))
            for position, pattern in enumerate(self.patterns):
                shares = pattern[rows] if pattern.shape[0] > 1 else pattern
                lengths = carried[position]
                by_pair = lengths[rows, None] if position == 0 else lengths[None]
                products = shares.largest_size * by_pair
                total = total + products.sum(axis=-1)
            return total * (1 + 1e-12)

        return of_rows

    def _carried(self, token: Ball, matrix: Ball) -> list[Ball]:
        """What each head carries from a position, (tokens, n) per head."""
        carried = []
        for head in range(self.heads):
            through = self.outputs[head] @ matrix
            values = token @ self.values[head]
            carried.append(values @ through)
        return carried


def _norms(rows: Ball) -> Array:
    """Not below the norm of each row."""
    floor = 1e-290  # more than the squares of small numbers can lose by underflow
    squares = np.square(rows.largest_size).sum(axis=-1)
    return np.sqrt(squares + floor) * (1 + 1e-9)


def _patterns(tokens: list[Ball], settings: TransformerSettings, weights: Weights) -> list[Ball]:
    """rate softmax + 1 - rate of each position read, (p or 1, p or 1, heads): a, b, head."""
    rate = settings.attention_rate
    scores = _scores(tokens, weights, settings)
    if rate == 0:
        return [exact(np.ones((1, 1, 1))) for _ in tokens]
    kept = exact(1.0) - exact(rate)
    return [exact(rate) * share + kept for share in softmax(scores)]


def _scores(tokens: list[Ball], weights: Weights, settings: TransformerSettings) -> list[Ball]:
    """How much the last position asks for each, (p or 1, p or 1, heads)."""
    asks = weights["blocks.0.attn.W_Q"]
    offers = weights["blocks.0.attn.W_K"]
    root = _root(settings.head_size)
    by_position: list[Ball] = []
    for position, token in enumerate(tokens):
        by_head = []
        for head in range(settings.heads):
            query = tokens[-1] @ asks[head]  # (p or 1, e)
            key = token @ offers[head]
            if position == len(tokens) - 1:
                products = query * key
                score = products.sum(axis=1)[None]  # (1, p or 1)
            elif position == 0:
                score = key @ _turned(query)  # (p, p or 1)
            else:
                score = query @ _turned(key)  # (1, p)
            scaled = score * root
            by_head.append(scaled.reshape(*score.shape, 1))
        by_position.append(side_by_side(*by_head))
    return by_position


def _root(size: int) -> Ball:
    """1 / sqrt(size)"""
    mid = np.asarray(1 / math.sqrt(size))
    return Ball(mid, 4 * 2.0**-53 * mid)
