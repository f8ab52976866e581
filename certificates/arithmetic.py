"""Matrices of balls for the checker. A ball is a midpoint and a radius. FLINT bounds every
rounding, and a comparison holds only if it holds for all numbers of both balls.
"""

import numpy as np
from flint import arb, arb_mat, ctx

ctx.prec = 64
WORK = {"operations": 0}  # multiply-adds of matrix products so far
HALF, ROOT_HALF = arb(0.5), arb(0.5).sqrt()
# An activation is a share of x plus an even part; and a bound on the slope of that part.
ACTIVATIONS = {
    "relu": (HALF, lambda x: abs(x) * HALF, HALF),
    "gelu": (HALF, lambda x: x * (x * ROOT_HALF).erf() * HALF, arb("0.63")),
    "square": (arb(0), lambda x: x * x, None),
    "none": (arb(1), lambda x: arb(0), None),
}


def require(condition, words, error=ValueError):
    if not condition:
        raise error(words)


def fields(entries, *names):
    """The values of an object of JSON that has these names and no others."""
    has_them = type(entries) is dict and set(entries) == set(names)
    require(has_them, f"an entry does not have {', '.join(names)}")
    return [entries[name] for name in names]


def integers(values):
    """A list of whole numbers of JSON, neither booleans nor fractions."""
    whole = type(values) is list and all(type(value) is int for value in values)
    require(whole, "no list of whole numbers")
    return values


def spent():
    """Operations since the last call."""
    operations, WORK["operations"] = WORK["operations"], 0
    return operations


def matrix(values):
    """Numbers without an error as a matrix; a vector is one row."""
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    require(values.ndim == 2 and values.size and np.isfinite(values).all(), "no matrix of numbers")
    return arb_mat(*values.shape, values.ravel().tolist())


def floats(values):
    """A matrix of a certificate, or one row: its entries are fractions of JSON, nothing else."""
    rows = values if type(values) is list and values and type(values[0]) is list else [values]
    numbers = all(type(row) is list and all(type(x) is float for x in row) for row in rows)
    require(numbers, "no matrix of numbers")
    return matrix(rows)


def sparse(shape, entries):
    """A matrix from (row, column, value), and how many entries it has."""
    dense = np.zeros(shape)
    for row, column, value in entries:
        require(type(row) is type(column) is int and type(value) is float, "no entry of a matrix")
        require(min(row, column) >= 0 and dense[row, column] == 0, "an entry is out of place")
        dense[row, column] = value
    return matrix(dense), len(entries)


def times(left, right, nonzero=None):
    """A product, counted. nonzero: how many entries of the right matrix are not zero."""
    size = right.nrows() * right.ncols() if nonzero is None else nonzero
    WORK["operations"] += left.nrows() * size
    return left * right


def mapped(function, *matrices):
    """A function of matching entries."""
    entries = zip(*(one.entries() for one in matrices), strict=True)
    shape = matrices[0].nrows(), matrices[0].ncols()
    return arb_mat(*shape, [function(*parts) for parts in entries])


def activated(read, name):
    share, even, _ = ACTIVATIONS[name]
    return mapped(lambda x: share * x + even(x), read)


def dot(left, right):
    WORK["operations"] += len(left)
    return sum((x * y for x, y in zip(left, right, strict=True)), arb(0))


def root(square):
    """Not below the root of a number that is not negative."""
    return square.abs_upper().sqrt()


def norm(values):
    """Not below the norm of a vector."""
    return root(dot(values, values))


def distances(rows):
    """Not below the distance of each two columns: a list for each column."""
    one = arb_mat(rows)
    WORK["operations"] += one.nrows() * one.ncols() * (one.ncols() + 1) // 2
    products, columns = (one.transpose() * one).tolist(), range(one.ncols())
    squares = [products[c][c] for c in columns]
    return [[root(squares[c] + squares[d] - 2 * products[c][d]) for d in columns] for c in columns]
