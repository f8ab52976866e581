"""Instances of a network on any finite group: one for each irreducible representation it uses.

Keep one representation rho in the operand tables, and the mean, which belongs to the trivial one:

    E_rho = mean + P_rho E

With X the network's logits and Y_rho those of E_rho, without offsets,

    share_rho    <X, Y_rho> / |X|^2
    energy_rho   |Y_rho|^2 / |X|^2
    additivity   1 - |X - sum over rho of Y_rho|^2 / |X|^2     over the key representations

A *key representation* has at least 1% of the logits. Two of them are one instance where one alone
writes at the other: where the part of Y_rho that is, as a function of z, in the functions of sigma
has at least a tenth of Y_sigma's own norm there. For a cyclic group, rho is a circle (k and -k),
and a circle of twice the frequency that writes at k is linked to it in the same way.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from algophase.analysis._pending import Pending
from algophase.analysis.program.actions import ActionSums, action_sums
from algophase.analysis.program.instances import LONGEST_CHAIN, TINY, Chains
from algophase.analysis.program.read import LEAST_KEY_SHARE
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.lines import reaches
from algophase.core.representations import Representation, representations
from algophase.networks import Network
from algophase.networks.pair_logits import Prepared

# What one representation alone writes at another, as a share of what the other writes there
# itself. Published networks on S5, A5 and D59 have 0.02 at most where they have any; a circle and
# its double have 0.3 to 0.4.
LEAST_LINK = 0.1
# And of all that it writes alone, at least half lies there or at itself. A lookup table writes
# everywhere.
LEAST_ORDER = 0.5


@dataclass(frozen=True)
class RepresentationAlone:
    """One representation of the tables kept alone. Shares are of the network's logits without
    offsets.

    embedding_share: its share of the squared norm of the operand tables, without their means
    writes: (representations,), the energy of what it writes by the functions of z it writes on
    """

    representation: Representation
    embedding_share: float
    share: float
    energy: float
    accuracy: float
    writes: Array


@dataclass(frozen=True)
class GroupInstance:
    """One small algorithm: the representations it uses, the leading one first.

    accuracy_alone, accuracy_without: of the network that keeps these alone, and that loses them.
    share_without: share of the network's logits still explained when it is left out.
    """

    representations: tuple[Representation, ...]
    share: float
    energy: float
    accuracy_alone: float
    accuracy_without: float
    share_without: float

    def __repr__(self) -> str:
        names = ", ".join(representation.name for representation in self.representations)
        return f"<GroupInstance {names}: {self.share:.2%} of the logits>"


@dataclass(frozen=True)
class GroupInstances:
    """All instances, the largest share first, and how well their sum is the network."""

    instances: tuple[GroupInstance, ...]
    alone: tuple[RepresentationAlone, ...]
    additivity: float
    remainder: float


def keep_representations(
    network: Network,
    group: Group,
    kept: Sequence[Sequence[Representation]],
    left_out: Sequence[Sequence[Representation]] = (),
    prepared: Prepared | None = None,
) -> Pending[ActionSums]:
    """The sums of the network's own tables, then with each of these sets of representations kept,
    then with each left out.
    """
    first, second = (table.detach() for table in network.operand_tables())
    mean = np.full((group.order, group.order), 1 / group.order)
    matrices = [np.eye(group.order)]
    matrices += [mean + _projection(members) for members in kept]
    matrices += [np.eye(group.order) - _projection(members) for members in left_out]
    parts = torch.from_numpy(np.stack(matrices)).to(first)
    return action_sums(network, group, parts @ first, parts @ second, prepared)


def _projection(members: Sequence[Representation]) -> Array:
    total = members[0].projection()
    for representation in members[1:]:
        total = total + representation.projection()
    return total


def embedding_shares(network: Network, group: Group) -> dict[str, float]:
    """Share of the squared norm of the operand tables in each representation but the trivial one,
    by its name.
    """
    tables = [table.detach().double().cpu().numpy() for table in network.operand_tables()]
    both = np.concatenate(tables, axis=1)  # (n, width of both)
    centered = both - both.mean(axis=0)
    whole = max(float(np.square(centered).sum()), TINY)
    shares = {}
    for representation in representations(group)[1:]:
        coefficients = representation.projection() @ centered
        shares[representation.name] = float(np.square(coefficients).sum()) / whole
    return shares


def representations_alone(
    network: Network, group: Group, sums: ActionSums
) -> list[RepresentationAlone]:
    """What each representation but the trivial one does alone. sums: of the network's own tables,
    then of each.
    """
    others = representations(group)[1:]
    in_tables = embedding_shares(network, group)
    products = sums.without_offsets
    whole = max(float(products[0, 0]), TINY)
    offsets = sums.offset
    writes = sums.writes - group.order**2 * offsets[:, :, None] * offsets[:, None, :]
    # The energy at sigma is the trace of P_sigma times the matrix of products over z.
    projections = np.stack([representation.projection() for representation in others])
    energies = np.einsum("szt,ezt->es", projections, writes) / whole
    alone = []
    for row, representation in enumerate(others, start=1):
        result = RepresentationAlone(
            representation=representation,
            embedding_share=in_tables[representation.name],
            share=float(products[0, row]) / whole,
            energy=float(products[row, row]) / whole,
            accuracy=float(sums.right[row]),
            writes=energies[row],
        )
        alone.append(result)
    return alone


def linked(alone: Sequence[RepresentationAlone]) -> list[list[RepresentationAlone]]:
    """Key representations, those joined that write at each other; the largest first."""
    column = {result.representation.name: row for row, result in enumerate(alone)}
    keys = [result for result in alone if reaches(result.share, LEAST_KEY_SHARE)]
    chains = Chains([result.representation.name for result in keys])
    for writer, other in itertools.permutations(keys, 2):
        names = writer.representation.name, other.representation.name
        if _serves(writer, other, column[names[0]], column[names[1]]):
            chains.join(names[1], names[0])
    # A longer chain keeps nothing apart: its members are taken one by one.
    longest = max(LONGEST_CHAIN, len(alone) // 2)
    groups: list[list[RepresentationAlone]] = []
    for names_of_chain in chains.groups():
        chain = sorted((alone[column[name]] for name in names_of_chain), key=_by_share)
        groups += [chain] if len(chain) <= longest else [[member] for member in chain]
    return sorted(groups, key=lambda group: _by_share(group[0]))


def _by_share(result: RepresentationAlone) -> tuple[float, str]:
    return -round(result.share, 9), result.representation.name


def _serves(
    writer: RepresentationAlone, other: RepresentationAlone, at_writer: int, at_other: int
) -> bool:
    """Whether one writes enough at the other, and little elsewhere. at_writer, at_other: their
    columns in `writes`.
    """
    written = float(writer.writes[at_other])
    enough = reaches(written, LEAST_LINK * float(other.writes[at_other]))
    orderly = reaches(written + float(writer.writes[at_writer]), LEAST_ORDER * writer.energy)
    return bool(enough and orderly)


def weigh_group_instances(
    alone: Sequence[RepresentationAlone],
    groups: Sequence[Sequence[RepresentationAlone]],
    sums: ActionSums,
) -> GroupInstances:
    """Every instance, from the sums of the network's own tables, of each group kept and of each
    left out.
    """
    count = len(groups)
    kept = slice(1, count + 1)
    products = sums.without_offsets
    whole = max(float(products[0, 0]), TINY)
    instances = []
    for row, group in enumerate(groups, start=1):
        left_out = count + row
        without = float(2 * products[0, left_out] - products[left_out, left_out])
        instance = GroupInstance(
            representations=tuple(result.representation for result in group),
            share=float(products[0, row]) / whole,
            energy=float(products[row, row]) / whole,
            accuracy_alone=float(sums.right[row]),
            accuracy_without=float(sums.right[left_out]),
            share_without=without / whole,
        )
        instances.append(instance)
    together = float(2 * products[0, kept].sum() - products[kept, kept].sum())
    return GroupInstances(
        instances=tuple(instances),
        alone=tuple(alone),
        additivity=together / whole if groups else 0.0,
        remainder=1.0 - sum(instance.share for instance in instances),
    )


async def group_instances(
    network: Network, group: Group, prepared: Prepared | None = None
) -> tuple[ActionSums, GroupInstances]:
    """The sums of each representation kept alone, and the instances that they show."""
    others = representations(group)[1:]
    singles = [[representation] for representation in others]
    sums = await keep_representations(network, group, singles, prepared=prepared)
    alone = representations_alone(network, group, sums)
    groups = linked(alone)
    members = [[result.representation for result in group] for group in groups]
    of_groups = await keep_representations(network, group, members, members, prepared)
    return sums, weigh_group_instances(alone, groups, of_groups)
