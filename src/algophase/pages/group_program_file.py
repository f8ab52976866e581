"""The Python file that the program of a network on a finite group is written to: the group by its
generators, its representations by their matrices, the formula, and a check of itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algophase.core.wording import counted
from algophase.pages.program_file import certificate_lines, quoted, wrapped

LINE = 80  # letters of a matrix on one line
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

HEAD = '''"""{group}, as network {id} computes it, distilled by algophase to {numbers}.

{formula}

with elements multiplied as the network's numbers are: x y is what it should answer to (x, y).
Certificate, over all {pairs} pairs:

{certificate}
"""

import numpy as np

ORDER, IDENTITY = {order}, {identity}
# The group, by its generators g: the numbers of g x for x = 0 to {last}.
GENERATORS = [
{generators}]
{names}# The matrices rho(g) of the generators, in each representation rho.
REPRESENTATIONS = {{
{representations}}}
# M_rho
FUNCTIONS = {{
{functions}}}
'''

BUILD = '''

def build():
    """The products of all elements, (n, n), and the matrices of each representation, (n, D, D)."""
    products = np.zeros((ORDER, ORDER), dtype=int)
    products[IDENTITY] = np.arange(ORDER)
    matrices = {}
    for name, generators in REPRESENTATIONS.items():
        matrices[name] = np.zeros((ORDER, *generators[0].shape))
        matrices[name][IDENTITY] = np.eye(len(generators[0]))
    reached = [IDENTITY]
    for x in reached:  # which grows until it has every element
        for index, images in enumerate(GENERATORS):
            element = int(images[x])
            if element not in reached:
                reached.append(element)
                products[element] = images[products[x]]
                for name, generators in REPRESENTATIONS.items():
                    matrices[name][element] = generators[index] @ matrices[name][x]
    return products, matrices


PRODUCTS, MATRICES = build()
INVERSES = (PRODUCTS == IDENTITY).argmax(axis=1)


def trace(name):
    """trace(M_rho rho(w)) of every element w, (n,)."""
    return np.einsum("ij,wji->w", FUNCTIONS[name], MATRICES[name])


FUNCTION = sum(trace(name) for name in FUNCTIONS)
'''

BODY = '''

def logits(x, y):
    """Logits of the n elements z, on a last axis, for numbers or arrays x and y."""
    x, y = np.broadcast_arrays(np.asarray(x)[..., None], np.asarray(y)[..., None])
{renamed}    z = np.arange(ORDER)
    after_x = PRODUCTS[INVERSES[x], z]  # x^-1 z
    total = FUNCTION[PRODUCTS[after_x, INVERSES[y]]]
{terms}    return total


def answer(x, y):
    """The element with the largest logit."""
    return logits(x, y).argmax(axis=-1)


if __name__ == "__main__":
    every = np.arange(ORDER)
    margins = []
    for x in every:  # one row at a time: all logits of a group of order 720 are 3 GB
        values = logits(x, every)
        right = PRODUCTS[{first}, {second}]
        of_right = np.take_along_axis(values, right[:, None], axis=-1)[:, 0]
        np.put_along_axis(values, right[:, None], -np.inf, axis=-1)
        margins.append(of_right - values.max(axis=-1))
    margin = np.array(margins)
    accuracy, smallest = (margin > 0).mean(), margin.min()
    right_pairs = f"{{(margin > 0).sum()}} of {{margin.size}} pairs are answered right"
    print(f"{{right_pairs}}; smallest margin {{smallest:.4g}}")
    assert abs(accuracy - {accuracy!r}) < 1e-9, "the accuracy differs from the certificate"
    rounding = 1e-6 * max(1.0, np.abs(margin).max())
    assert abs(smallest - {margin!r}) <= rounding, "the margin differs from the certificate"
'''


class Products(NamedTuple):
    """A function of two elements as a sum of products: first, (n, terms), times second, (terms,
    n).
    """

    first: Floats
    second: Floats

    @property
    def values(self) -> Floats:
        """(n, n)"""
        return self.first @ self.second


@dataclass(frozen=True)
class GroupProgram:
    """The numbers of a program, by the network's numbers.

    described: the group in words. identity: the number of the identity. generators: for each, the
        numbers of g x, (n,).
    first, second: which element each number is as an operand, (n,); None where it is itself.
    matrices: by representation, rho(g) of the generators, (generators, D, D). functions: M_rho,
        (D, D).
    left: over (y, x^-1 z); right: over (x, z y^-1); readout: over (x y, z); offsets: (n,). None for
        a part that is left out.
    """

    described: str
    identity: int
    generators: tuple[Numbers, ...]
    first: Numbers | None
    second: Numbers | None
    matrices: Mapping[str, Floats]
    functions: Mapping[str, Floats]
    left: Products | None
    right: Products | None
    readout: Products | None
    offsets: Floats | None

    @property
    def order(self) -> int:
        return len(self.generators[0])


def group_program_file(
    name: str, program: GroupProgram, count: int, certificate: Mapping[str, float]
) -> str:
    """The file as text. count: how many numbers the program has; certificate: by the names of
    `Certificate`.
    """
    formula = ["trace(M_rho rho(x^-1 z y^-1))"]
    tables, terms = [], []
    one_sided = {
        "left": ("left(y, x^-1 z)", program.left, "y", "after_x"),
        "right": ("right(x, z y^-1)", program.right, "x", "PRODUCTS[z, INVERSES[y]]"),
        "readout": ("readout(x y, z)", program.readout, "PRODUCTS[x, y]", "z"),
    }
    for part, (symbol, products, first, second) in one_sided.items():
        if products is not None:
            formula.append(symbol)
            tables.append(_product_table(part.upper(), symbol, products))
            terms.append(f"    total = total + {part.upper()}[{first}, {second}]\n")
    if program.offsets is not None:
        formula.append("offset(z)")
        tables.append(f"OFFSETS = {_array(program.offsets)}\n")
        terms.append("    total = total + OFFSETS\n")
    body = BODY.format(
        renamed=_renamed(program),
        terms="".join(terms),
        first="x" if program.first is None else "FIRST[x]",
        second="every" if program.second is None else "SECOND",
        accuracy=certificate["accuracy"],
        margin=float(certificate["smallest_margin"]),
    )
    return _head(name, program, count, certificate, formula) + "".join(tables) + BUILD + body


def _head(
    name: str,
    program: GroupProgram,
    count: int,
    certificate: Mapping[str, float],
    formula: list[str],
) -> str:
    lines = f"    logits(x, y)[z] = sum over rho of {formula[0]}"
    if len(formula) > 1:
        lines += f"\n                      + {' + '.join(formula[1:])}"
    names = ""
    for table, numbers in (("FIRST", program.first), ("SECOND", program.second)):
        if numbers is not None:
            operand = table.lower()
            comment = f"# The element that each number stands for as {operand} operand."
            names += f"{comment}\n{table} = {_array(numbers)}\n"
    representations = ""
    for member, matrices in program.matrices.items():
        rows = "".join(f"        {_matrix(matrix, 12)},\n" for matrix in matrices)
        representations += f"    {member!r}: [\n{rows}    ],\n"
    functions = ""
    for member, matrix in program.functions.items():
        functions += f"    {member!r}: {_matrix(matrix, 6)},\n"
    return HEAD.format(
        group=program.described[0].upper() + program.described[1:],
        id=quoted(name),
        numbers=counted(count, "number"),
        formula=lines,
        pairs=certificate["pairs"],
        certificate=certificate_lines(certificate, "z"),
        order=program.order,
        last=program.order - 1,
        identity=program.identity,
        generators="".join(f"    {_array(images)},\n" for images in program.generators),
        names=names,
        representations=representations,
        functions=functions,
    )


def _renamed(program: GroupProgram) -> str:
    lines = ""
    for operand, table, numbers in (
        ("x", "FIRST", program.first),
        ("y", "SECOND", program.second),
    ):
        if numbers is not None:
            lines += f"    {operand} = {table}[{operand}]\n"
    return lines


def _product_table(name: str, symbol: str, products: Products) -> str:
    terms = products.first.shape[1]
    rows = ""
    for first, second in zip(products.first.T, products.second, strict=True):
        rows += f"    np.outer({_array(first)}, {_array(second)}),\n"
    return f"# {symbol}: {counted(terms, 'product')} of two functions.\n{name} = sum([\n{rows}])\n"


def _array(values: Floats | Numbers) -> str:
    words = [f"{value:g}" for value in values.tolist()]
    return f"np.array([{wrapped(words)}])"


def _matrix(matrix: Floats, digits: int) -> str:
    """On one line where that is short, else one line per row."""
    rows = []
    for row in matrix.tolist():
        words = ", ".join(f"{value:.{digits}g}" for value in row)
        rows += [f"[{words}]"]
    on_one_line = ", ".join(rows)
    if len(on_one_line) <= LINE:
        return f"np.array([{on_one_line}])"
    lines = "".join(f"            {row},\n" for row in rows)
    return f"np.array([\n{lines}        ])"
