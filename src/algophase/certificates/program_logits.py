"""The numbers of a network's distilled program, and its logits with their error.

A program is a sum of terms. Each is the product of two matrices, read at two elements of the group
that follow from x, y and z:

    left        y, x^-1 z              right       x, z y^-1
    readout     x y, z                 function    0, x^-1 z y^-1
    answer      x y^-1, x^-1 z y^-1    (addition modulo p: a - b, and c - a - b)

A certificate holds these matrices as decimals, and they are exactly what it speaks of.
"""

import numpy as np

from algophase.analysis.program.distill import Distilled
from algophase.analysis.program.distill_group import DistilledGroup
from algophase.certificates.balls import Array, Ball, exact
from algophase.certificates.sound import ProgramRows
from algophase.core.group import Elements, Group

Matrix = list[list[float]]
Term = tuple[str, Matrix, Matrix]


def group_terms(program: DistilledGroup, order: int) -> list[Term]:
    """The program of a network on a group that is not cyclic."""
    formula = program.formula
    values = formula.function(order)
    terms = [_term("function", np.ones((1, 1)), values[None])]
    for name in ("left", "right", "readout"):
        products = getattr(formula, name)
        if products is not None:
            terms.append(_term(name, products.first, products.second))
    if formula.offsets is not None:
        terms.append(_term("readout", np.ones((order, 1)), formula.offsets[None]))
    return terms


def cyclic_terms(program: Distilled, order: int) -> list[Term]:
    """The program of a network on a cyclic group, as `distill` writes it:

    sum over k of (g_k(d) cos w_k r + h_k(d) sin w_k r) + Re sum over k of R_k(c) e^{i w_k s}
    + offset(c)    with d = a - b, s = a + b, r = s - c, w_k = 2 pi k / p
    """
    of_answer: list[tuple[Array, Array]] = []  # by d, by c - s
    of_sum: list[tuple[Array, Array]] = []  # by s, by c
    for row, k in enumerate(program.frequencies):
        turns = k * np.arange(order) % order
        angles = 2 * np.pi * turns / order
        cosine, sine = np.cos(angles), np.sin(angles)
        of_answer.append((program.profiles[row], cosine))
        if program.sine_profiles is not None:
            of_answer.append((program.sine_profiles[row], -sine))
        if program.readout is not None:
            readout = program.readout[row]
            of_sum.append((cosine, readout.real))
            of_sum.append((sine, -readout.imag))
    if program.offsets is not None:
        of_sum.append((np.ones(order), program.offsets))
    terms = []
    for name, products in (("answer", of_answer), ("readout", of_sum)):
        if products:
            first, second = zip(*products, strict=True)
            left, right = np.stack(first, axis=1), np.stack(second)
            terms.append(_term(name, left, right))
    return terms


def _term(name: str, first: Array, second: Array) -> Term:
    return name, first.tolist(), second.tolist()


def program_rows(terms: list[Term], group: Group, elements: Elements) -> ProgramRows:
    """The program's logits by the numbers' own names. elements: which element of the group each
    number stands for.
    """
    table, inverses = group.table, group.inverses
    products = []
    for name, first, second in terms:
        products.append((name, exact(first) @ exact(second)))
    y, z = elements.second[:, None], elements.answer

    def rows(chosen: slice) -> Ball:
        x = elements.first[chosen, None, None]
        after_x = table[inverses[x], z]
        of_inverse = inverses[y]
        between = table[after_x, of_inverse]
        before_y, difference = table[z, of_inverse], table[x, of_inverse]
        nothing = np.zeros_like(between)
        at = {
            "left": (y, after_x),
            "right": (x, before_y),
            "readout": (table[x, y], z),
            "function": (nothing, between),
            "answer": (difference, between),
        }
        total = exact(np.zeros(between.shape))
        for name, product in products:
            total = total + product[at[name]]
        return total

    return rows
