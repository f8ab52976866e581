"""Distill a network on any finite group to a short Python file.

The file computes, with NumPy alone,

    logits(x, y)[z] = sum over rho of trace(M_rho rho(x^-1 z y^-1))
                      + left(y, x^-1 z) + right(x, z y^-1) + readout(xy, z) + offset(z)

These are the classes of `actions`, orthogonal to each other. F(w) = sum of trace(M_rho rho(w)) is
the bi-equivariant one; left, right and readout are what each of these has beyond it, as sums of
products of two functions. A representation, a product and the offsets are written if they have at
least half a percent of the logits; the certificate says what the others would add.

The *smallest* program that answers every pair as the network does has the fewest representations,
each with one number (trace rho is a character) where that is enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.hidden.units import on_grid
from algophase.analysis.logits.sums import answers
from algophase.analysis.program.actions import ActionSums
from algophase.analysis.program.by_representation import keep_representations
from algophase.analysis.program.certificate import Certificate, no_smallest, rounded
from algophase.analysis.program.instances import TINY
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.group import Elements, Group, Numbers
from algophase.core.known_groups import described, few_generators
from algophase.core.memory import FLOAT64, slabs
from algophase.core.representations import Representation, representations
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.pages.group_program_file import GroupProgram, Products, group_program_file

# Share of the logits from which a representation, a product of two functions or the offsets are
# written.
LEAST_PART = 0.005
ROUNDING = 1e-9  # of the largest entry of a matrix: smaller ones are zero
COPIES = 6  # arrays as large as the logits of a strip: both, their difference, indices


@dataclass(frozen=True)
class _Parts:
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


@dataclass(frozen=True)
class DistilledGroup:
    """The program of a network on a group, with its numbers as they are written.

    Attributes:
        id: the network's name.
        group: the group in words: "the group S5 of order 120".
        representations: the names of the representations, the largest first.
        numbers: how many numbers the program has.
        source: the Python file.
        certificate: how closely it matches the network.
    """

    id: str
    group: str
    representations: tuple[str, ...]
    numbers: int
    source: str
    certificate: Certificate

    def __repr__(self) -> str:
        return f"<DistilledGroup {self.id}: {self.summary}>"

    @property
    def parts(self) -> str:
        """What it is made of, in words."""
        return f"representations {', '.join(self.representations)} of {self.group}"

    @property
    def summary(self) -> str:
        return f"{counted(self.numbers, 'number')}, {self.parts}: {self.certificate}"


def distill_group(subject: Subject, *, smallest: bool, least_share: float) -> DistilledGroup:
    """The program of a network whose group is not cyclic."""
    network, group = subject.network, subject.group
    sums = keep_representations(network, group, [], prepared=subject.prepared, classes=True).get()
    whole = _whole(group, sums)
    elements = subject.given.task.elements
    written = _written(subject.given.id, network, group, elements, whole)
    if not smallest:
        return written
    own = torch.cat([answers(logits) for _, logits in _strips(network)])
    for parts in _from_small_to_whole(whole):
        if _answers_alike(parts, group, own):
            program = _written(subject.given.id, network, group, elements, parts)
            if program.certificate.share >= least_share:
                return program
    raise InputError(no_smallest(written.id, written.numbers, written.certificate, least_share))


# The parts


def _whole(group: Group, sums: ActionSums) -> _Parts:
    """Everything that has at least `LEAST_PART` of the logits, rounded as it is written."""
    n, elements, table = group.order, group.elements, group.table
    squared_norm = max(float(sums.products[0, 0]), TINY)
    readout = sums.readout - sums.offset[0]
    # As in `class_shares`: F(w) with x^-1 z = w y
    function = sums.from_left[elements[:, None], table.T].mean(axis=0)
    left_readout = readout[elements[:, None], table].mean(axis=0)  # of s^-1 z
    right_readout = readout[elements[:, None], table.T].mean(axis=0)  # of z s^-1
    class_means = np.bincount(group.class_of, weights=function) / np.bincount(group.class_of)
    without_first = table[group.inverses]  # [s, z]: s^-1 z
    without_second = table[:, group.inverses].T  # [s, z]: z s^-1
    characters = class_means[group.class_of]
    beyond = {
        "left": sums.from_left - function[without_second],
        "right": sums.from_right - function[without_first],
        "readout": readout
        - left_readout[without_first]
        - right_readout[without_second]
        + characters[without_first],
    }
    products = {
        name: _largest_products(values, n / squared_norm) for name, values in beyond.items()
    }
    offset_share = n * n * float(np.square(sums.offset[0]).sum()) / squared_norm
    return _Parts(
        functions=_functions(group, function, n * n / squared_norm),
        left=products["left"],
        right=products["right"],
        readout=products["readout"],
        offsets=rounded(sums.offset[0]) if offset_share >= LEAST_PART else None,
    )


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
    return Products(rounded(left[:, :count] * scale), rounded(scale[:, None] * right[:count]))


def _from_small_to_whole(whole: _Parts) -> Iterator[_Parts]:
    """Programs with more and more numbers."""
    members = list(whole.functions)
    for count in range(1, len(members) + 1):
        functions = {member: whole.functions[member] for member in members[:count]}
        characters = {}
        for member, matrix in functions.items():
            size = len(matrix)
            mean: float = np.trace(matrix) / size
            characters[member] = rounded(np.diag(np.full(size, mean)))
        yield _Parts(characters)
        yield _Parts(functions)
    yield _Parts(whole.functions, offsets=whole.offsets)
    yield whole


# How closely it matches


def _strips(network: Network) -> Iterator[tuple[slice, Tensor]]:
    """Rows x, and their logits (rows, n, outputs)."""
    first, second = network.operand_tables()
    n = network.task.modulus
    row_bytes = COPIES * FLOAT64 * n * max(n, network.task.logits)
    for rows in slabs(n, row_bytes, first.device):
        with torch.no_grad():
            logits = network.logits_from_embeddings(*on_grid(network, (first[rows], second)))
        yield rows, logits.unflatten(0, (-1, n)).double().cpu()


def _answers_alike(parts: _Parts, group: Group, own: Tensor) -> bool:
    """Whether a program answers every pair as the network does. own: its answers (n, n)."""
    row_bytes = COPIES * FLOAT64 * group.order**2
    for rows in slabs(group.order, row_bytes, torch.device("cpu")):
        logits = torch.from_numpy(parts.logits(group, rows))
        if not torch.equal(answers(logits), own[rows]):
            return False
    return True


def _certificate(parts: _Parts, network: Network, group: Group) -> Certificate:
    n = group.order
    squared_error, squared_norm, largest_error, agreeing = 0.0, 0.0, 0.0, 0
    margins = []
    for rows, own in _strips(network):
        labels = own[..., :n]
        centered = labels - labels.mean(dim=-1, keepdim=True)
        logits = torch.from_numpy(parts.logits(group, rows))
        error = centered - (logits - logits.mean(dim=-1, keepdim=True))
        squared_error += float(error.square().sum())
        squared_norm += float(centered.square().sum())
        largest_error = max(largest_error, float(error.abs().max()))
        agreeing += int((answers(logits) == answers(own)).sum())
        margins.append(_margins(logits, torch.from_numpy(group.table[rows])))
    margin = torch.cat(margins)
    return Certificate(
        share=1 - squared_error / squared_norm if squared_norm > 0 else float("nan"),
        largest_error=largest_error,
        norm=(squared_norm / n**3) ** 0.5,
        agreeing=agreeing,
        pairs=n * n,
        accuracy=(margin > 0).double().mean().item(),
        smallest_margin=margin.min().item(),
    )


def _margins(logits: Tensor, right_answers: Tensor) -> Tensor:
    """By how much the right answer leads over all others, (rows, n)."""
    index = right_answers[..., None]
    others = logits.scatter(-1, index, -torch.inf).amax(dim=-1)
    return logits.gather(-1, index).squeeze(-1) - others


# The file


def _written(
    name: str, network: Network, group: Group, elements: Elements, parts: _Parts
) -> DistilledGroup:
    certificate = _certificate(parts, network, group)
    program = _by_numbers(group, elements, parts)
    return DistilledGroup(
        id=name,
        group=described(group),
        representations=tuple(member.name for member in parts.functions),
        numbers=parts.numbers,
        source=group_program_file(name, program, parts.numbers, vars(certificate)),
        certificate=certificate,
    )


def _by_numbers(group: Group, elements: Elements, parts: _Parts) -> GroupProgram:
    """The program in terms of the network's own numbers: an element is the number that stands for
    it as an answer.
    """
    number_of = elements.names.answer
    generators = few_generators(group)
    images = []
    for generator in generators:
        products = group.table[generator, elements.answer]  # by the number of x
        images.append(number_of[products])
    return GroupProgram(
        described=described(group),
        identity=int(number_of[group.identity]),
        generators=tuple(images),
        first=_unless_same(number_of[elements.first]),
        second=_unless_same(number_of[elements.second]),
        matrices={
            member.name: member.matrices[generators].round(12) + 0.0 for member in parts.functions
        },
        functions={member.name: matrix for member, matrix in parts.functions.items()},
        left=_renumbered(parts.left, elements),
        right=_renumbered(parts.right, elements),
        readout=_renumbered(parts.readout, elements),
        offsets=None if parts.offsets is None else parts.offsets[elements.answer],
    )


def _unless_same(numbers: Numbers) -> Numbers | None:
    return None if np.array_equal(numbers, np.arange(len(numbers))) else numbers


def _renumbered(part: Products | None, elements: Elements) -> Products | None:
    if part is None:
        return None
    return Products(part.first[elements.answer], part.second[:, elements.answer])
