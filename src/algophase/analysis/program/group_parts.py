"""The parts of the program of a network on a finite group: from the sums over its logits, and as
logits again. `distill_group` writes them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from algophase.analysis.program.actions import ActionSums
from algophase.analysis.program.certificate import rounded
from algophase.analysis.program.instances import TINY
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.representations import Representation, representations
from algophase.pages.group_program_file import Products

# Share of the logits from which a representation, a product of two functions or the offsets are
# written.
LEAST_PART = 0.005
ROUNDING = 1e-9  # of the largest entry of a matrix: smaller ones are zero


@dataclass(frozen=True)
class GroupParts:
    """The parts of a program, by the group's elements.

    functions: M_rho of each representation, (D, D), the largest share of the logits first.
    left: over (y, x^-1 z); right: over (x, z y^-1); readout: over (xy, z). None if left out.
    offsets: (n,)
    """

    functions: dict[Representation, Array]
    left: Products | None = None
    right: Products | None = None
    readout: Products | None = None
    offsets: Array | None = None

    @property
    def numbers(self) -> int:
        count = 0
        for representation, matrix in self.functions.items():
            is_character = np.array_equal(matrix, matrix[0, 0] * np.eye(len(matrix)))
            # M of a complex pair or a quaternionic one has fewer free numbers than entries.
            count += 1 if is_character else representation.functions
        for part in (self.left, self.right, self.readout):
            count += 0 if part is None else part.first.size + part.second.size
        return count + (0 if self.offsets is None else self.offsets.size)

    def function(self, order: int) -> Array:
        """F(w), (n,)."""
        total = np.zeros(order)
        for representation, matrix in self.functions.items():
            total += np.einsum("ij,wji->w", matrix, representation.matrices)
        return total

    def logits(self, group: Group, rows: slice) -> Array:
        """(rows, n, n)"""
        table, inverses = group.table, group.inverses
        x = group.elements[rows]
        after_x = table[inverses[x]]  # (x, z): x^-1 z
        arguments = table[after_x[:, None, :], inverses[:, None]]  # x^-1 z y^-1
        total = self.function(group.order)[arguments]
        if self.left is not None:
            total += self.left.values[:, after_x].swapaxes(0, 1)
        if self.right is not None:
            before_y = table[:, inverses].T  # (y, z): z y^-1
            total += self.right.values[x][:, before_y]
        if self.readout is not None:
            total += self.readout.values[table[x]]
        if self.offsets is not None:
            total += self.offsets
        return total


def whole_program(group: Group, sums: ActionSums) -> GroupParts:
    """Everything that has at least `LEAST_PART` of the logits, rounded as it is written."""
    pairs = group.order**2
    squared_norm = max(float(sums.products[0, 0]), TINY)
    offsets = sums.offset[0]
    function, beyond = _classes(group, sums)
    by_pairs = group.order / squared_norm  # each value of these is that of n triples
    offset_share = pairs * float(np.square(offsets).sum()) / squared_norm
    return GroupParts(
        functions=_functions(group, function, pairs / squared_norm),
        left=_largest_products(beyond["left"], by_pairs),
        right=_largest_products(beyond["right"], by_pairs),
        readout=_largest_products(beyond["readout"], by_pairs),
        offsets=rounded(offsets) if offset_share >= LEAST_PART else None,
    )


def _classes(group: Group, sums: ActionSums) -> tuple[Array, dict[str, Array]]:
    """F(w), (n,), and what left, right and readout have beyond the classes with more conditions,
    each (n, n); as in `class_shares`.
    """
    table = group.table
    every = group.elements[:, None]
    inverse_times = table[group.inverses]  # [s, z]: s^-1 z
    times_inverse = table[:, group.inverses].T  # [s, z]: z s^-1
    readout = sums.readout - sums.offset[0]
    function = sums.from_left[every, table.T].mean(axis=0)  # x^-1 z = w y
    left_readout = readout[every, table].mean(axis=0)  # of s^-1 z
    right_readout = readout[every, table.T].mean(axis=0)  # of z s^-1
    class_sizes = np.bincount(group.class_of)
    class_means = np.bincount(group.class_of, weights=function) / class_sizes
    characters = class_means[group.class_of]
    both_readouts = (
        left_readout[inverse_times] + right_readout[times_inverse] - characters[inverse_times]
    )
    beyond = {
        "left": sums.from_left - function[times_inverse],
        "right": sums.from_right - function[inverse_times],
        "readout": readout - both_readouts,
    }
    return function, beyond


def _functions(group: Group, function: Array, weight: float) -> dict[Representation, Array]:
    """M_rho of F, (n,), in each representation that has enough of it; at least in one.

    weight: times |F|^2, its share of the logits.
    """
    shares, matrices = {}, {}
    for representation in representations(group)[1:]:
        part = representation.projection() @ function
        shares[representation] = float(np.square(part).sum()) * weight
        # trace(M rho(w)) = sum over i and j of M_ij rho_ji(w)
        coefficients = representation.matrices.swapaxes(1, 2).reshape(group.order, -1)
        solution: Array = np.linalg.lstsq(coefficients, part, rcond=None)[0].astype(np.float64)
        size = representation.real_dimension
        is_rounding = np.abs(solution) < ROUNDING * np.abs(solution).max()
        solution[is_rounding] = 0.0
        matrices[representation] = rounded(solution.reshape(size, size))
    by_share = sorted(shares, key=lambda member: -round(shares[member], 9))
    enough = [member for member in by_share if shares[member] >= LEAST_PART]
    return {member: matrices[member] for member in enough or by_share[:1]}


def _largest_products(values: Array, weight: float) -> Products | None:
    """The largest products of two functions in a table (n, n). weight: times the squared norm, its
    share of the logits.
    """
    left, sizes, right = np.linalg.svd(values)
    count = int((np.square(sizes) * weight >= LEAST_PART).sum())
    if not count:
        return None
    scale = np.sqrt(sizes[:count])
    columns = left[:, :count] * scale
    rows = scale[:, None] * right[:count]
    return Products(rounded(columns), rounded(rows))


def from_small_to_whole(whole: GroupParts) -> Iterator[GroupParts]:
    """Programs with more and more numbers."""
    members = list(whole.functions)
    for count in range(1, len(members) + 1):
        functions = {member: whole.functions[member] for member in members[:count]}
        characters = {}
        for member, matrix in functions.items():
            size = len(matrix)
            mean: float = np.trace(matrix) / size
            characters[member] = rounded(np.diag(np.full(size, mean)))
        yield GroupParts(characters)
        yield GroupParts(functions)
    yield GroupParts(whole.functions, offsets=whole.offsets)
    yield whole
