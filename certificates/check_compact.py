"""The proof for less than brute force: how many pairs follow from a certificate's advice, and how
many operations it counts. The theorem is in docs/certificates.md; its letters are used here.
"""

import numpy as np
from arithmetic import ACTIVATIONS, Ball

ROOM = 1 + 1e-9  # for the rounding of sums of numbers that are not negative
FLOOR = 1e-290  # more than the squares of small numbers can lose by underflow


def matrix(entries, rows, columns):
    """A matrix from (row, column, value), each place once."""
    dense = np.zeros((rows, columns))
    for row, column, value in entries:
        if not (0 <= row < rows and 0 <= column < columns and dense[row, column] == 0):
            raise ValueError("an entry of the advice is out of place")
        dense[row, column] = value
    return dense


def norms(values):
    """Not below the norm over the last axis, as a ball of one column."""
    return Ball(length(values.size)[..., None] * ROOM)


def length(sizes, axis=-1):
    """Not below the norm of numbers that are not negative, but for its rounding."""
    return np.sqrt(np.square(sizes).sum(axis=axis) + FLOOR)


def column_distances(x):
    """Not below the distance of each two columns."""
    products = x.T @ x
    squares = Ball(np.diag(products.mid), np.diag(products.rad))
    apart = squares[:, None] + squares[None] - products - products
    return np.sqrt(np.maximum(apart.high, 0.0)) * ROOM


def members(groups, count):
    groups = np.array(groups)
    if groups.shape != (count,) or groups.min() < 0 or groups.max() >= count:
        raise ValueError("the advice's groups do not fit")
    return [groups == group for group in range(groups.max() + 1)]


def merged_units(reading, settings, weights, readout, written):
    """h of rows of pairs with |delta_g| of every group, what h writes, and the groups."""
    into, biases = weights["blocks.0.mlp.W_in"], weights["blocks.0.mlp.b_in"]
    width, units = into.shape
    subspace, back = Ball(reading["subspace"]), Ball(reading["back"])  # Q, Y
    q, owners = back.shape[0], np.array(reading["owners"])
    factors, fits = np.array(reading["factors"]), subspace.shape == (width, q)
    fits = fits and owners.shape == factors.shape == (units,) and owners.min() >= 0
    homogeneous = settings["activation"] == "relu" and (factors >= 0).all()
    if not (fits and owners.max() < units and (homogeneous or (factors == 1).all())):
        raise ValueError("the advice on reading does not fit")
    reads = matrix(reading["reads"], q + 1, owners.max() + 1)
    kept = back @ into
    through = (Ball(2 * np.eye(q)) - back @ subspace) @ kept  # A
    missed = into - subspace @ kept  # N
    own = Ball(np.vstack([through.mid, biases.mid]), np.vstack([through.rad, biases.rad]))
    apart = own - Ball(reads)[:, owners] * Ball(factors)  # K
    chosen = members(reading["groups"], units)
    squares = [apart[:, group] @ apart[:, group].T for group in chosen]
    missed_norms = [length(missed[:, group].size, axis=None) * ROOM for group in chosen]
    coordinates = written(subspace)
    outside = written(Ball(np.eye(width)) - subspace @ back, by_token=norms)  # |x'|
    slope = {"relu": 1.0, "gelu": 1.13}[settings["activation"]]
    sums = np.zeros((reads.shape[1], units))
    sums[owners, np.arange(units)] = factors

    def of_rows(rows):
        z = coordinates(rows)
        ones = np.ones((*z.shape[:-1], 1))
        z = Ball(np.concatenate([z.mid, ones], -1), np.concatenate([z.rad, 0 * ones], -1))
        far = outside(rows).high[..., 0]
        distances = []
        for square, norm in zip(squares, missed_norms, strict=True):
            inside = np.sqrt(np.maximum((z @ square * z).sum().high, 0.0))
            distances.append(slope * (inside + far * norm) * ROOM)
        return ACTIVATIONS[settings["activation"]](z @ Ball(reads)), distances

    return of_rows, Ball(sums) @ readout, chosen


def prove_compact(advice, form, weights, network, right, slabs):
    """How many pairs are right for certain, by the advice."""
    readout, of_rows, written = form
    if advice["reading"] is None:
        units, writes, gaps = lambda rows: (of_rows(rows)[0], []), readout, []
    else:
        reading, settings = advice["reading"], network["settings"]
        units, writes, groups = merged_units(reading, settings, weights, readout, written)
        gaps = [column_distances(readout[group]) for group in groups]
    count, outputs = writes.shape
    basis = Ball(advice["basis"])  # B
    coefficients = Ball(matrix(advice["writes"], count, len(basis.mid)))  # S
    entries = Ball(matrix(advice["entries"], count, outputs))  # E
    center, scales = Ball(advice["center"]), np.array(advice["scales"])
    if not (scales > 0).all() or scales.shape != (count,) or center.shape != (count,):
        raise ValueError("the advice's scales do not fit")
    left = writes - coefficients @ basis - entries  # R
    groups = members(advice["groups"], count)
    left_gaps = [column_distances(left[group] * Ball(scales[group, None])) for group in groups]
    if written is not None:
        unembed = weights["unembed.W_U"]
        direct = written(unembed, weights["blocks.0.mlp.b_out"] @ unembed)
    proved = 0
    for rows in slabs:
        hidden, distances = units(rows)
        logits = (hidden @ coefficients) @ basis + hidden @ entries + center @ left
        logits = logits if written is None else logits + direct(rows)
        answers = right[rows]
        bound = sum(far[..., None] * gap[answers] for far, gap in zip(distances, gaps, strict=True))
        off_center = (hidden - center).size / scales
        for group, gap in zip(groups, left_gaps, strict=True):
            bound = bound + length(off_center[..., group])[..., None] * gap[answers]
        lowest = np.take_along_axis(logits.low, answers[..., None], axis=-1)
        is_right = np.arange(outputs) == answers[..., None]
        margins = lowest - logits.high
        enough = margins - bound * ROOM - 2.0**-50 * np.abs(margins) > 0
        proved += int((is_right | enough).all(axis=-1).sum())
    return proved


def count_operations(advice, weights, network, n):
    """Operations of the compact proof and of brute force, by the rule of docs/certificates.md."""
    settings, writes = network["settings"], advice["writes"]
    merged, basis = len(advice["center"]), np.array(advice["basis"])
    v, entries, write_groups = basis.shape[1], len(advice["entries"]), max(advice["groups"]) + 1
    columns, pairs = v * (v + 1) // 2, n * n
    fixed = len(writes) * v + entries + merged * v + (merged + write_groups) * columns
    by_pair = len(writes) + np.count_nonzero(basis) + entries
    by_pair += 2 * merged + write_groups * v + 2 * v
    if advice["reading"] is None:
        hidden = settings["hidden"]
        width = settings["width"] // (2 if settings.get("model") == "delta" else 1)
        layered = settings["kind"] == "linear" or settings.get("layer", True)
        tables = 2 * n * width * hidden if layered else 0
        two_layers = settings.get("model") in ("beta", "gamma")
        units = 2 * hidden + (hidden * hidden + 2 * hidden if two_layers else 0)
        brute = tables + pairs * (units + hidden * v + v)
        return tables + fixed + pairs * (units + by_pair), brute
    reading = advice["reading"]
    q, width = np.shape(reading["back"])
    units, (heads, _, size) = len(reading["owners"]), weights["blocks.0.attn.W_V"].shape
    inner, read_groups, square = heads * size, max(reading["groups"]) + 1, (q + 1) * (q + 2) // 2
    positions = 2 + network["equals_sign"]
    token_rows = 2 * n + network["equals_sign"]
    distinct = len(weights["embed.W_E"].mid) + positions
    uniform = settings["attention_rate"] == 0
    attention = distinct * width * inner
    if not uniform:
        scores = token_rows * inner + (0 if network["equals_sign"] else pairs * inner)
        attention = 3 * attention + scores + 2 * pairs * heads * positions
    carried = inner * width + distinct * (inner + width)  # for each column
    combined = positions * (1 if uniform else heads) + 1
    readout = units * width * v
    brute = attention + carried * (units + v) + readout
    brute += pairs * (combined * (units + v) + units + units * v + v)
    fixed += attention + carried * (q + v) + readout
    fixed += 2 * inner * width * q + distinct * (inner * width + 2 * width * q)
    fixed += 2 * (heads + 1) * token_rows * width
    fixed += 2 * q * width * units + 2 * q * q * width + 2 * width * units
    fixed += (q + 1) * units + units * square + units * v + (units + read_groups) * columns
    by_pair += combined * (q + v + 1) + len(reading["reads"]) + merged + read_groups * (square + v)
    return int(fixed + pairs * by_pair), int(brute)
