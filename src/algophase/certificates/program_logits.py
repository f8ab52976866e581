"""The numbers of a network's distilled program, and its logits with their error.

    logits(a, b)[c] = sum over k of (g_k(d) cos w_k r + h_k(d) sin w_k r)
                      + Re sum over k of R_k(c) e^{i w_k s} + offset(c)

d = a - b, s = a + b, r = s - c, w_k = 2 pi k / p, as `distill` writes it. A certificate holds these
numbers as decimals, and they are exactly what it speaks of.
"""

from typing import Any

import numpy as np

from algophase.analysis.program.distill import Distilled
from algophase.analysis.program.distill_group import DistilledGroup
from algophase.certificates.balls import Array, Ball, exact
from algophase.certificates.sound import ProgramRows
from algophase.core.group import Elements, Group

# cos and sin of NumPy at angles below 2 pi, and the rounding of the angle, relative to one.
WAVE_ERROR = 2.0**-46

Wave = tuple[int, str, list[float]]


def group_numbers(program: DistilledGroup, order: int) -> dict[str, Any]:
    """The program of a network on a group that is not cyclic, as a certificate writes it: F, and
    left, right and readout as two matrices whose product they are.
    """
    formula = program.formula
    numbers: dict[str, Any] = {"function": formula.function(order).tolist()}
    for name in ("left", "right", "readout"):
        products = getattr(formula, name)
        both = None
        if products is not None:
            both = [products.first.tolist(), products.second.tolist()]
        numbers[name] = both
    numbers["offsets"] = None if formula.offsets is None else formula.offsets.tolist()
    return numbers


def group_rows(numbers: dict[str, Any], group: Group, elements: Elements) -> ProgramRows:
    """The logits of such a program by the numbers' own names:

    F(x^-1 z y^-1) + left(y, x^-1 z) + right(x, z y^-1) + readout(xy, z) + offset(z)
    """
    table, inverses = group.table, group.inverses
    products = {}
    for name in ("left", "right", "readout"):
        if numbers[name] is not None:
            first, second = numbers[name]
            products[name] = exact(first) @ exact(second)
    y, z = elements.second[:, None], elements.answer

    def rows(chosen: slice) -> Ball:
        x = elements.first[chosen, None, None]
        after_x = table[inverses[x], z]
        total = exact(np.array(numbers["function"])[table[after_x, inverses[y]]])
        if "left" in products:
            total = total + products["left"][y, after_x]
        if "right" in products:
            total = total + products["right"][x, table[z, inverses[y]]]
        if "readout" in products:
            total = total + products["readout"][table[x, y], z]
        if numbers["offsets"] is not None:
            total = total + exact(np.array(numbers["offsets"])[z])
        return total

    return rows


def program_numbers(program: Distilled) -> dict[str, Any]:
    """The program as a certificate writes it: waves (frequency, "cosine" or "sine", values). Those
    of the answer are waves of r with values by d, those of the sum waves of s with values by c. The
    offset is a wave of frequency 0.
    """
    of_answer: list[Wave] = []
    of_sum: list[Wave] = []
    for row, k in enumerate(program.frequencies):
        of_answer.append((k, "cosine", program.profiles[row].tolist()))
        if program.sine_profiles is not None:
            of_answer.append((k, "sine", program.sine_profiles[row].tolist()))
        if program.readout is not None:
            of_sum.append((k, "cosine", program.readout[row].real.tolist()))
            of_sum.append((k, "sine", (-program.readout[row].imag).tolist()))
    if program.offsets is not None:
        of_sum.append((0, "cosine", program.offsets.tolist()))
    return {"answer": of_answer, "sum": of_sum}


def program_rows(numbers: dict[str, Any], order: int, elements: Elements) -> ProgramRows:
    """The program's logits by the numbers' own names. numbers: as `program_numbers` gives them;
    elements: which element of the group each number stands for.
    """
    by_answer = np.zeros((order, order))  # (d, r)
    by_sum = np.zeros((order, order))  # (s, c)
    size = 0.0
    for k, kind, values in numbers["answer"]:
        by_answer += np.outer(values, _wave(order, k, kind))
        size += np.abs(values).max()
    for k, kind, values in numbers["sum"]:
        by_sum += np.outer(_wave(order, k, kind), values)
        size += np.abs(values).max()
    terms = len(numbers["answer"]) + len(numbers["sum"]) + 2
    error = WAVE_ERROR * terms * size

    def rows(chosen: slice) -> Ball:
        first = elements.first[chosen, None]
        d = (first - elements.second) % order
        s = (first + elements.second) % order
        r = (s[..., None] - elements.answer) % order
        mid = by_answer[d[..., None], r] + by_sum[s[..., None], elements.answer]
        return Ball(mid, np.full_like(mid, error))

    return rows


def _wave(order: int, frequency: int, kind: str) -> Array:
    """cos or sin of 2 pi k t / p for t = 0 to p - 1."""
    angles = 2 * np.pi * (frequency * np.arange(order) % order) / order
    return np.cos(angles) if kind == "cosine" else np.sin(angles)
