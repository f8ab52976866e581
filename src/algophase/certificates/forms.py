"""A network as one formula that every certificate uses:

    logits(a, b) = hidden(a, b) W + direct(a, b)

hidden(a, b): what its last hidden units give. W: what they write on the outputs. direct: what
reaches the outputs past them, which only transformers have.

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
)
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, MLPSettings, TransformerSettings
from algophase.networks import Network

Weights = dict[str, Ball]
# Rows of the first operand -> hidden units (rows, p, units), and what reaches the outputs past them
# (rows, p, outputs).
OfRows = Callable[[slice], tuple[Ball, Ball | None]]


@dataclass(frozen=True)
class Form:
    """A network in this form.

    order: how many numbers there are; readout: W, (units, outputs); of_rows: hidden units and
        direct logits of some rows of pairs.
    table_operations, unit_operations: what tables of tokens take, and the hidden units of a pair;
        without a stream.
    stream, direct: of a transformer, the stream that its units read, and its direct logits alone.
    """

    order: int
    readout: Ball
    of_rows: OfRows
    table_operations: int = 0
    unit_operations: int = 0
    stream: "Stream | None" = None
    direct: Callable[[slice], Ball] | None = None

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
        hidden, direct = self.of_rows(rows)
        logits = hidden @ self.readout
        return logits if direct is None else logits + direct


def form_of(network: Network) -> Form:
    """The form of a network, or an InputError for one that has none."""
    settings = network.settings
    weights = {name: exact(values) for name, values in weights_of(network).items()}
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
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors}


def weights_sha256(network: Network) -> str:
    """SHA-256 over every tensor, with its name, precision and shape, by name."""
    digest = hashlib.sha256()
    for name, values in weights_of(network).items():
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _mlp(network: Network, settings: MLPSettings, weights: Weights) -> Form:
    first = weights["first"]
    second = weights["second"] if settings.own_tables else first
    activation = ACTIVATIONS[settings.activation]
    if settings.join == "multiply":
        if settings.layer:
            raise InputError(
                f"network {network.id} multiplies embeddings before a layer; no certificate is "
                "made for that"
            )

        def products(rows: slice) -> tuple[Ball, None]:
            return activation(first[rows, None] * second[None]), None

        return Form(network.task.modulus, weights["W_U"], products, 0, 2 * settings.hidden)
    if settings.join == "concatenate":
        width = settings.width
        into_first = weights["W"][:width] if settings.layer else None
        into_second = weights["W"][width:] if settings.layer else None
        if into_first is None or into_second is None:
            raise InputError(
                f"network {network.id} concatenates embeddings and has no layer; no certificate "
                "is made for that"
            )
        reads = first @ into_first, second @ into_second
    else:
        reads = (first @ weights["W"], second @ weights["W"]) if settings.layer else (first, second)

    def sums(rows: slice) -> tuple[Ball, None]:
        return activation(reads[0][rows, None] + reads[1][None]), None

    tables = 2 * first.mid.size * settings.hidden if settings.layer else 0
    return Form(network.task.modulus, weights["W_U"], sums, tables, 2 * settings.hidden)


def _linear(network: Network, settings: LinearSettings, weights: Weights) -> Form:
    own_tables = settings.model == "alpha-prime"
    first = weights["embed1.weight" if own_tables else "embed.weight"]
    second = weights["embed2.weight"] if own_tables else first
    into = _turned(weights["l1.weight"])  # (width, hidden)
    half = settings.width // 2 if settings.model == "delta" else 0
    into_first = into[:half] if half else into
    into_second = into[half:]
    of_first = first @ into_first + weights["l1.bias"]
    of_second = second @ into_second
    if settings.model == "gamma":  # L_1(x_1) + L_1(x_2): the bias counts twice
        of_second = of_second + weights["l1.bias"]
    two_layers = "l2.weight" in weights
    between = _turned(weights["l2.weight"]) if two_layers else None

    def of_rows(rows: slice) -> tuple[Ball, None]:
        hidden = relu(of_first[rows, None] + of_second[None])
        if between is not None:
            hidden = relu(hidden @ between + weights["l2.bias"])
        return hidden, None

    hidden = settings.hidden
    by_pair = 2 * hidden + (hidden * hidden + 2 * hidden if two_layers else 0)
    readout = _turned(weights["unembed.weight"])
    return Form(network.task.modulus, readout, of_rows, 2 * first.mid.size * hidden, by_pair)


def _turned(matrix: Ball) -> Ball:
    return Ball(matrix.mid.T, matrix.rad.T)


def _transformer(network: Network, settings: TransformerSettings, weights: Weights) -> Form:
    task, p = network.task, network.task.modulus
    table, positions = weights["embed.W_E"], weights["pos_embed.W_pos"]
    second = table[p : 2 * p] if task.separate_vocabularies else table[:p]
    tokens = [table[:p] + positions[0], second + positions[1]]
    if task.equals_sign:
        tokens.append(table[-1:] + positions[2])
    stream = Stream(
        p,
        tokens,
        _patterns(tokens, settings, weights),
        weights["blocks.0.attn.W_V"],
        weights["blocks.0.attn.W_O"],
        weights["blocks.0.mlp.W_in"],
        weights["blocks.0.mlp.b_in"],
        settings.activation,
        settings.attention_rate == 0,
        table.shape[0] + len(tokens),
    )
    unembedding = weights["unembed.W_U"]
    activation = ACTIVATIONS[settings.activation]
    hidden = stream.written(stream.into_units, stream.biases)
    past_units = stream.written(unembedding, weights["blocks.0.mlp.b_out"] @ unembedding)

    def of_rows(rows: slice) -> tuple[Ball, Ball]:
        return activation(hidden(rows)), past_units(rows)

    readout = weights["blocks.0.mlp.W_out"] @ unembedding
    return Form(p, readout, of_rows, stream=stream, direct=past_units)


@dataclass(frozen=True)
class Stream:
    """The residual stream x(a, b) of a transformer at the last position, before its hidden units.

    tokens: (tokens, d) at each position; patterns: how much the last position reads of each, per
        head, (p or 1, p or 1, heads); values: W_V, (heads, d, e); outputs: W_O, (heads, e, d).
    into_units, biases: W_in and b_in; uniform: whether the attention rate is 0.
    distinct_rows: rows of the embedding and of the positions, of which all tokens are sums.
    """

    order: int
    tokens: list[Ball]
    patterns: list[Ball]
    values: Ball
    outputs: Ball
    into_units: Ball
    biases: Ball
    activation: str
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
        carried = [self._carried(token, matrix) for token in self.tokens]

        def of_rows(rows: slice) -> Ball:
            height = len(range(self.order)[rows])
            total = own[None] + exact(np.zeros((height, self.order, 1)))
            for position, pattern in enumerate(self.patterns):
                shares = pattern[rows] if pattern.shape[0] > 1 else pattern
                for head in range(self.heads):
                    by_token = carried[position][head]
                    by_pair = by_token[rows, None] if position == 0 else by_token[None]
                    total = total + shares[..., head, None] * by_pair
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
            total = own[None] + np.zeros((len(range(self.order)[rows]), self.order))
            for position, pattern in enumerate(self.patterns):
                shares = pattern[rows] if pattern.shape[0] > 1 else pattern
                lengths = carried[position]
                by_pair = lengths[rows, None] if position == 0 else lengths[None]
                total = total + (shares.largest_size * by_pair).sum(axis=-1)
            return total * (1 + 1e-12)

        return of_rows

    def _carried(self, token: Ball, matrix: Ball) -> list[Ball]:
        """What each head carries from a position, (tokens, n) per head."""
        heads = range(self.heads)
        return [(token @ self.values[h]) @ (self.outputs[h] @ matrix) for h in heads]


def _norms(rows: Ball) -> Array:
    """Not below the norm of each row."""
    floor = 1e-290  # more than the squares of small numbers can lose by underflow
    return np.sqrt(np.square(rows.largest_size).sum(axis=-1) + floor) * (1 + 1e-9)


def _patterns(tokens: list[Ball], settings: TransformerSettings, weights: Weights) -> list[Ball]:
    """rate softmax + 1 - rate of each position read, (p or 1, p or 1, heads): a, b, head."""
    rate = settings.attention_rate
    scores = _scores(tokens, weights, settings)
    if rate == 0:
        return [exact(np.ones((1, 1, settings.heads))) for _ in tokens]
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
                score = (query * key).sum(axis=1)[None]  # (1, p or 1)
            elif position == 0:
                score = key @ _turned(query)  # (p, p or 1)
            else:
                score = query @ _turned(key)  # (1, p)
            by_head.append((score * root).reshape(*score.shape, 1))
        by_position.append(side_by_side(*by_head))
    return by_position


def _root(size: int) -> Ball:
    """1 / sqrt(size)"""
    mid = np.asarray(1 / math.sqrt(size))
    return Ball(mid, 4 * 2.0**-53 * mid)
