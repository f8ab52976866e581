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

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algophase.analysis._pending import Pending, both, pack
from algophase.analysis.logits.sums import STRIP_COPIES
from algophase.analysis.program.actions import ActionSums, ClassShares, action_sums, class_shares
from algophase.analysis.program.adding import Adding, measure_adding
from algophase.analysis.program.instances import LONGEST_CHAIN, TINY, Chains
from algophase.analysis.program.read import LEAST_KEY_SHARE
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.known_groups import name_of
from algophase.core.lines import reaches
from algophase.core.memory import FLOAT64, slabs
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
TOKEN_COPIES = 3  # of what is kept of each token: of either operand, and what it is made from
ROUNDING = 1e-12  # of a table: less is what projections leave of nothing


@dataclass(frozen=True)
class RepresentationAlone:
    """One representation of the tables kept alone. Shares are of the network's logits without
    offsets.

    embedding_share: its share of the squared norm of the operand tables, without their means
    """

    representation: Representation
    embedding_share: float
    share: float
    energy: float


@dataclass(frozen=True)
class GroupInstance:
    """One small algorithm: the representations it uses, the leading one first.

    representations, dimensions, kinds: their names, the dimensions of their characters, and
        "real", "complex" or "quaternionic".
    embedding_share: their share of the operand tables.
    accuracy_alone, accuracy_without: of the network that keeps these alone, and that loses them.
    share_without: share of the network's logits still explained when it is left out.
    adding, interaction: does it add or multiply (`adding`); NaN where the network does not say what
        its hidden units read.
    """

    representations: tuple[str, ...]
    dimensions: tuple[int, ...]
    kinds: tuple[str, ...]
    embedding_share: float
    share: float
    energy: float
    accuracy_alone: float
    accuracy_without: float
    share_without: float
    adding: float
    interaction: float

    def __repr__(self) -> str:
        return f"<GroupInstance {', '.join(self.representations)}: {self.share:.2%} of the logits>"

    @property
    def kept(self) -> float:
        """Of what it writes alone, how much is in the network's logits, as of an `Instance`."""
        return self.share / self.energy

    @property
    def short(self) -> bool:
        """Whether it is a sign alone, 1 or -1 for every element: adding and multiplying are the
        same for a cycle of two.
        """
        return self.dimensions == (1,) and self.kinds == ("real",)


@dataclass(frozen=True)
class RepresentationShare:
    """A representation and its share of the operand tables."""

    name: str
    dimension: int
    kind: str
    share: float


@dataclass(frozen=True)
class OnGroup:
    """What a network on a finite group computes.

    name: of the group, "" where it has none that we know; order: how many elements it has;
        classes: how many conjugacy classes.
    accuracy, cross_entropy: over all pairs.
    shares: of its logits by what they are functions of. embedding: of its operand tables by
        representation, the trivial one left out; empty for a function, which has none. Of a network
        that concatenates its embeddings, as published MLPs do, it is of what the hidden units read
        of each operand (W_x W and W_y W there).
    instances: the largest share first; additivity: share of the logits that their sum explains;
        remainder: share of the logits in none of them.
    """

    name: str
    order: int
    classes: int
    accuracy: float
    cross_entropy: float
    shares: ClassShares
    embedding: tuple[RepresentationShare, ...]
    instances: tuple[GroupInstance, ...]
    additivity: float
    remainder: float


def keep_representations(
    network: Network,
    group: Group,
    kept: Sequence[Sequence[Representation]],
    left_out: Sequence[Sequence[Representation]] = (),
    prepared: Prepared | None = None,
    *,
    classes: bool = False,
    writes: bool = False,
) -> Pending[ActionSums]:
    """The sums of the network's own tables, then with each of these sets of representations kept,
    then with each left out.

    classes: also those of the classes of its logits. writes: also what each of the kept sets
        writes.
    """
    every = np.eye(group.order)
    matrices = [every]
    matrices += [_keeping(group, members) for members in kept]
    matrices += [every - _projection(group, members) for members in left_out]
    first, second = _parts_of_tables(network, matrices)
    writers = slice(1, len(kept) + 1) if writes else slice(0)
    return action_sums(network, group, first, second, prepared, classes=classes, writers=writers)


def _parts_of_tables(network: Network, matrices: Sequence[Array]) -> tuple[Tensor, Tensor]:
    """The operand tables with each of these matrices (n, n) before them, (matrices, n, width)."""
    first, second = (table.detach() for table in network.operand_tables())
    parts = torch.from_numpy(np.stack(matrices)).to(first)
    return _without_rounding(parts @ first, first), _without_rounding(parts @ second, second)


def keep_alone(
    network: Network, group: Group, members: Sequence[Representation]
) -> tuple[Tensor, Tensor]:
    """Operand tables (1, n, width) that keep these representations alone, with the mean."""
    return _parts_of_tables(network, [_keeping(group, members)])


def _without_rounding(parts: Tensor, table: Tensor) -> Tensor:
    """Parts (parts, n, width) of a table, those that hold nothing but its mean and rounding without
    the rounding: a network whose logits grow with its tables would still answer by it.
    """
    means = parts.mean(dim=1, keepdim=True)
    spread = (parts - means).flatten(1).norm(dim=1)
    is_rounding = spread <= ROUNDING * table.norm()
    return torch.where(is_rounding[:, None, None], means, parts)


def _keeping(group: Group, members: Sequence[Representation]) -> Array:
    """The matrix that keeps these and the mean."""
    mean = np.full((group.order, group.order), 1 / group.order)
    return mean + _projection(group, members)


def _projection(group: Group, members: Sequence[Representation]) -> Array:
    total = np.zeros((group.order, group.order))
    for representation in members:
        total = total + representation.projection()
    return total


def embedding_shares(network: Network, group: Group) -> dict[str, float]:
    """Share of the squared norm of the operand tables in each representation but the trivial one,
    by its name.
    """
    tables = [table.detach().double().cpu().numpy() for table in _tables_as_read(network)]
    both = np.concatenate(tables, axis=1)  # (n, width of both)
    centered = both - both.mean(axis=0)
    whole = max(float(np.square(centered).sum()), TINY)
    shares = {}
    for representation in representations(group)[1:]:
        coefficients = representation.projection() @ centered
        shares[representation.name] = float(np.square(coefficients).sum()) / whole
    return shares


@torch.no_grad()
def _tables_as_read(network: Network) -> tuple[Tensor, Tensor]:
    """The operand tables. A network that concatenates them reads each in a basis of its own, so
    lengths there mean nothing: of such a network, what its hidden units read of each operand, the
    other being at its mean.
    """
    first, second = network.operand_tables()
    hidden = network.hidden_reads() if network.concatenates else None
    if hidden is None:
        return first, second
    mean_of_first = first.mean(dim=0).expand_as(first)
    mean_of_second = second.mean(dim=0).expand_as(second)
    return hidden.reads(first, mean_of_second), hidden.reads(mean_of_first, second)


async def representations_alone(
    network: Network, group: Group, prepared: Prepared | None = None
) -> list[RepresentationAlone]:
    """What each representation but the trivial one does alone."""
    nontrivial = representations(group)[1:]
    if network.cut == "none":  # a function has no tables to keep representations in
        return []
    in_tables = embedding_shares(network, group)
    device = network.operand_tables()[0].device
    prepared = prepared or network.pair_logits()
    row_bytes = STRIP_COPIES * FLOAT64 * group.order**2
    token_bytes = TOKEN_COPIES * FLOAT64 * group.order * prepared.token_elements
    alone = []
    # As many at once as their tokens and one row of their logits fit a slab.
    for chosen in slabs(len(nontrivial), row_bytes + token_bytes, device):
        members = nontrivial[chosen]
        singles = [[member] for member in members]
        sums = await keep_representations(network, group, singles, prepared=prepared)
        alone += _alone(members, in_tables, sums)
    return alone


def _alone(
    members: Sequence[Representation], in_tables: Mapping[str, float], sums: ActionSums
) -> list[RepresentationAlone]:
    """sums: of the network's own tables, then of each member alone."""
    products = sums.without_offsets
    whole = max(float(products[0, 0]), TINY)
    alone = []
    for row, representation in enumerate(members, start=1):
        result = RepresentationAlone(
            representation=representation,
            embedding_share=in_tables[representation.name],
            share=float(products[0, row]) / whole,
            energy=float(products[row, row]) / whole,
        )
        alone.append(result)
    return alone


def key_representations(alone: Sequence[RepresentationAlone]) -> list[RepresentationAlone]:
    """Those with at least 1% of the logits, the largest first."""
    keys = [result for result in alone if reaches(result.share, LEAST_KEY_SHARE)]
    return sorted(keys, key=_by_share)


def _by_share(result: RepresentationAlone) -> tuple[float, str]:
    return -round(result.share, 9), result.representation.name


def energies_written(keys: Sequence[RepresentationAlone], sums: ActionSums) -> Array:
    """(keys, keys): of what each of the keys writes alone, the energy in the functions of z that
    belong to each. sums: of the network's own tables, then of each key, with `writes`.
    """
    count = len(keys)
    offsets = sums.offset[1 : count + 1]
    pairs = offsets.shape[-1] ** 2
    writes = sums.writes - pairs * offsets[:, :, None] * offsets[:, None, :]
    energies = np.zeros((count, count))
    for column, key in enumerate(keys):
        # The energy at sigma is the trace of P_sigma times the matrix of products over z.
        energies[:, column] = np.einsum("zt,ezt->e", key.representation.projection(), writes)
    return energies / max(float(sums.without_offsets[0, 0]), TINY)


def linked(
    keys: Sequence[RepresentationAlone], energies: Array, count: int
) -> list[list[RepresentationAlone]]:
    """Key representations, those joined that write at each other; the largest first.

    energies: what each writes at each (`energies_written`). count: of all representations.
    """
    rows = {key.representation.name: row for row, key in enumerate(keys)}
    chains = Chains(list(rows))
    for writer, reader in itertools.permutations(rows, 2):
        if _serves(energies, keys[rows[writer]].energy, rows[writer], rows[reader]):
            chains.join(reader, writer)
    # A longer chain, or one of all representations, keeps nothing apart: its members are taken one
    # by one. A lookup table on S3 was two linked representations, which is all there are.
    longest = min(max(LONGEST_CHAIN, count // 2), max(count - 1, 1))
    groups: list[list[RepresentationAlone]] = []
    for names in chains.groups():
        chain = sorted((keys[rows[name]] for name in names), key=_by_share)
        groups += [chain] if len(chain) <= longest else [[member] for member in chain]
    return sorted(groups, key=lambda group: _by_share(group[0]))


def _serves(energies: Array, whole: float, writer: int, reader: int) -> bool:
    """Whether one writes enough at the other, and little elsewhere. whole: the energy of all that
    it writes.
    """
    written = float(energies[writer, reader])
    enough = reaches(written, LEAST_LINK * float(energies[reader, reader]))
    orderly = reaches(written + float(energies[writer, writer]), LEAST_ORDER * whole)
    return bool(enough and orderly)


async def read_group(network: Network, group: Group, prepared: Prepared | None = None) -> OnGroup:
    """What a network computes, its numbers in the order of the group's elements."""
    alone = await representations_alone(network, group, prepared)
    keys = key_representations(alone)
    members = [[key.representation] for key in keys]
    keep = functools.partial(keep_representations, network, group, prepared=prepared)
    sums = await keep(members, classes=True, writes=True)
    chains = linked(keys, energies_written(keys, sums), len(alone))
    with_chains = sums
    if len(chains) < len(keys):
        members = [[result.representation for result in chain] for chain in chains]
        with_chains = await keep(members)
    without_chains, forms = await both(
        keep([], members), _adding_alone(network, group, members, prepared)
    )
    products = with_chains.without_offsets
    whole = max(float(products[0, 0]), TINY)
    together = float(2 * products[0, 1:].sum() - products[1:, 1:].sum())
    instances = []
    for row, (chain, form) in enumerate(zip(chains, forms, strict=True), start=1):
        instances.append(_instance(chain, form, row, with_chains, without_chains))
    return OnGroup(
        name=name_of(group),
        order=group.order,
        classes=len(group.class_members),
        accuracy=float(sums.right[0]),
        cross_entropy=sums.loss,
        shares=class_shares(group, sums),
        embedding=tuple(_in_tables(result) for result in alone),
        instances=tuple(instances),
        additivity=together / whole if chains else 0.0,
        remainder=1.0 - sum(instance.share for instance in instances),
    )


def _in_tables(result: RepresentationAlone) -> RepresentationShare:
    member = result.representation
    return RepresentationShare(member.name, member.dimension, member.kind, result.embedding_share)


def _instance(
    chain: Sequence[RepresentationAlone],
    form: Adding,
    row: int,
    alone: ActionSums,
    left_out: ActionSums,
) -> GroupInstance:
    """alone, left_out: the sums of the network with each chain alone, and without it. row: which of
    them are this one's.
    """
    products = alone.without_offsets
    products_left = left_out.without_offsets
    whole = max(float(products[0, 0]), TINY)
    members = [result.representation for result in chain]
    without = float(2 * products_left[0, row] - products_left[row, row])
    return GroupInstance(
        representations=tuple(member.name for member in members),
        dimensions=tuple(member.dimension for member in members),
        kinds=tuple(member.kind for member in members),
        embedding_share=sum(result.embedding_share for result in chain),
        share=float(products[0, row]) / whole,
        energy=max(float(products[row, row]), TINY) / whole,
        accuracy_alone=float(alone.right[row]),
        accuracy_without=float(left_out.right[row]),
        share_without=without / whole,
        adding=form.adding,
        interaction=form.interaction,
    )


def _adding_alone(
    network: Network,
    group: Group,
    sets: Sequence[Sequence[Representation]],
    prepared: Prepared | None,
) -> Pending[list[Adding]]:
    """Whether each of these sets of representations, alone in the tables, adds or multiplies."""
    if not sets:
        return Pending(pack({}), lambda totals: [])
    matrices = [_keeping(group, members) for members in sets]
    first, second = _parts_of_tables(network, matrices)
    return measure_adding(network, first, second, prepared, beside_logits=False)
