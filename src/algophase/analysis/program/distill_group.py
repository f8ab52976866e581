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
from algophase.analysis.program.by_representation import keep_representations
from algophase.analysis.program.certificate import Certificate, no_smallest
from algophase.analysis.program.group_parts import (
    GroupParts,
    from_small_to_whole,
    whole_program,
)
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.group import Elements, Group, Numbers
from algophase.core.known_groups import described, few_generators
from algophase.core.memory import FLOAT64, slabs
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.pages.group_program_file import GroupProgram, Products, group_program_file

COPIES = 6  # arrays as large as the logits of a strip: both, their difference, indices


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
        formula: its numbers by the group's elements.
    """

    id: str
    group: str
    representations: tuple[str, ...]
    numbers: int
    source: str
    certificate: Certificate
    formula: GroupParts

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
    whole = whole_program(group, sums)
    elements = subject.given.task.elements
    written = _written(subject.given.id, network, group, elements, whole)
    if not smallest:
        return written
    own = torch.cat([answers(logits) for _, logits in _strips(network)])
    for parts in from_small_to_whole(whole):
        if _answers_alike(parts, group, own):
            program = _written(subject.given.id, network, group, elements, parts)
            if program.certificate.share >= least_share:
                return program
    raise InputError(no_smallest(written.id, written.numbers, written.certificate, least_share))


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


def _answers_alike(parts: GroupParts, group: Group, own: Tensor) -> bool:
    """Whether a program answers every pair as the network does. own: its answers (n, n)."""
    row_bytes = COPIES * FLOAT64 * group.order**2
    for rows in slabs(group.order, row_bytes, torch.device("cpu")):
        logits = torch.from_numpy(parts.logits(group, rows))
        if not torch.equal(answers(logits), own[rows]):
            return False
    return True


def _certificate(parts: GroupParts, network: Network, group: Group) -> Certificate:
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
    largest_wrong = logits.scatter(-1, index, -torch.inf).amax(dim=-1)
    return logits.gather(-1, index).squeeze(-1) - largest_wrong


# The file


def _written(
    name: str, network: Network, group: Group, elements: Elements, parts: GroupParts
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
        formula=parts,
    )


def _by_numbers(group: Group, elements: Elements, parts: GroupParts) -> GroupProgram:
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
