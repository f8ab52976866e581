"""Instances: the small algorithms that run side by side in a network, each isolated, named and
weighed by itself.

Keep one circle of the embedding and look at the logits: it writes at its own frequency k, as a
Clock or a Pizza does, or at half of it, as the circle that accompanies one (appendix D). An
*instance* is a key frequency of the program with the circles that belong to it: k, its double 2k if
that alone writes at k, and the double's double as long as none is a key frequency with an instance
of its own. A circle that serves two key frequencies joins them into one instance.

With X the network's logits, Y_i those with instance i kept, all without their offsets in c,

    additivity   1 - |X - sum_i Y_i|^2 / |X|^2      how well the account holds
    share_i      <X, Y_i> / |X|^2                   shares and the remainder add to 1

A circle is kept as in the paper: in its two principal components where those are both waves of its
frequency, else in its Fourier modes. Which frequencies are looked at follows from the logits and
the embedding alike: key frequencies, their doubles, and what stands out in the embedding. So a
network with all frequencies in use has as many instances.

Its form is read from its own profile: see `forms`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from algophase.analysis._pending import Pending
from algophase.analysis.circles.find import (
    ALWAYS_STANDS_OUT,
    STANDS_OUT,
    group_columns,
    variance_by_frequency,
)
from algophase.analysis.circles.principal import (
    LEAST_VARIANCE_SHARE,
    PrincipalComponents,
    of_columns,
    rebuilt,
)
from algophase.analysis.device import upload
from algophase.analysis.logits.sums import LogitSums, logit_sums
from algophase.analysis.program.adding import Adding
from algophase.analysis.program.forms import LONGEST_SHORT_CYCLE, fitted_forms, period_of
from algophase.analysis.program.read import Program, spectrum_of
from algophase.core.fourier import Array, folded
from algophase.core.lines import reaches
from algophase.networks import Network
from algophase.networks.pair_logits import Prepared

Key = TypeVar("Key", int, str)  # a frequency, or the name of a representation

# What a double must write at the frequency it serves, as a share of that circle's own logits, to
# belong to it: below this its amplitude is under 5% of the circle's. In released networks
# companions have 0.3 to 0.4, other doubles below 0.002.
LEAST_LINK = 0.002
# And of what it writes, how much must lie at that frequency or its own: real companions have 0.5 or
# more, a frequency of a lookup table, which writes everywhere, a few hundredths.
LEAST_ORDER = 0.25
# A chain longer than this, and than half of all frequencies, keeps nothing apart: its key
# frequencies are taken one by one.
LONGEST_CHAIN = 3
# A key frequency whose circle alone has less than this share of the network's logits is written by
# others: no instance.
LEAST_INSTANCE = 0.002
# An amplitude below this part of the root mean square of what the instance writes is rounding.
NO_AMPLITUDE = 1e-9
TINY = float(np.finfo(np.float64).tiny)  # what is divided by where logits are all zero


@dataclass(frozen=True)
class CircleAlone:
    """One frequency of the embedding kept alone. Shares are of the network's own logits without
    offsets.

    share: <X, Y> / |X|^2; energy: |Y|^2 / |X|^2; writes: of that, at each output frequency 1 to
        floor(p / 2).
    answer: its answer-following logits over (d, r).
    """

    frequency: int
    embedding_share: float
    share: float
    energy: float
    accuracy: float
    writes: Array
    answer: Array


@dataclass(frozen=True)
class Instance:
    """One small algorithm: frequencies, its leading one first, and what it does.

    keys: those of them that are key frequencies of the program, each with a form of its own in
        `fits`.
    period: how many points the circle of its leading frequency has.
    share, energy: as of a circle alone; share_without: share of the network's logits still
        explained when it is left out.
    profile: g(d) of the instance at its leading frequency; leading_profile: of its leading circle
        alone.
    clock, pizza, companion: amplitudes of the three forms; following: share of the instance's
        energy at its own frequencies, following the answer; fits: share of its energy that each
        form explains, by name.
    adding, interaction: does it add or multiply, by the causal test that every group has
        (`adding`); NaN where the network does not say what its hidden units read.
    """

    frequencies: tuple[int, ...]
    keys: tuple[int, ...]
    period: int
    share: float
    energy: float
    accuracy_alone: float
    accuracy_without: float
    share_without: float
    profile: Array
    leading_profile: Array
    clock: float
    pizza: float
    companion: float
    following: float
    fits: dict[str, float]
    adding: float = float("nan")
    interaction: float = float("nan")

    def __repr__(self) -> str:
        return f"<Instance {', '.join(map(str, self.frequencies))}: {self.share:.2%} of the logits>"

    @property
    def pizza_part(self) -> float:
        """The Pizza's part of the leading circle's amplitude: 0 for a Clock, 1 for a Pizza. NaN
        where it has none.
        """
        whole = self.clock + self.pizza
        return self.pizza / whole if whole > 0 else float("nan")

    @property
    def kept(self) -> float:
        """Of what it writes alone, how much is in the network's logits: <X, Y> / |Y|^2, 1 for a
        part that others leave alone.

        A frequency of a lookup table writes a lot alone that all others must cancel.
        """
        return self.share / self.energy

    @property
    def accompanied(self) -> bool:
        """Whether a circle of twice the frequency belongs to it."""
        return len(self.frequencies) > 1

    @property
    def short(self) -> bool:
        """Whether its leading circle has so few points that Clock and Pizza cannot be told apart
        there: see `forms`.
        """
        return self.period <= LONGEST_SHORT_CYCLE


@dataclass(frozen=True)
class Instances:
    """All instances of a network, the largest share first, and how well their sum is the network.

    circles: every frequency that was looked at alone; empty where they come from a table's row.
    outstanding: how many frequencies stand out in the embedding; embedded: whether there is one to
        isolate instances in.
    """

    instances: tuple[Instance, ...]
    circles: tuple[CircleAlone, ...]
    additivity: float
    remainder: float
    outstanding: int
    embedded: bool = True

    def __repr__(self) -> str:
        frequencies = [instance.frequencies for instance in self.instances]
        return f"<Instances {frequencies}: additivity {self.additivity:.2%}>"


def no_instances(additivity: float, remainder: float, embedded: bool) -> Instances:
    """Of a network on a group that is not cyclic, whose instances are not at frequencies."""
    return Instances((), (), additivity, remainder, outstanding=0, embedded=embedded)


def stands_out(components: PrincipalComponents) -> list[int]:
    """Frequencies that stand out in the embedding, p/2 included."""
    if components.count == 0:
        return []
    variances = variance_by_frequency(components).numpy()
    # The mean of the middle one or two: np.median takes ten times as long.
    middle = [(len(variances) - 1) // 2, len(variances) // 2]
    median = float(np.sort(variances)[middle].mean())
    line = max(LEAST_VARIANCE_SHARE, min(STANDS_OUT * median, ALWAYS_STANDS_OUT))
    return (np.flatnonzero(reaches(variances, line)) + 1).tolist()


def doubled(frequencies: Iterable[int], modulus: int) -> list[int]:
    """The circles of twice these frequencies. That of p/2 is a point, and left out."""
    doubles = [folded(2 * k, modulus) for k in frequencies]
    return [double for double in doubles if double > 0]


def candidates(program: Program, components: PrincipalComponents) -> list[int]:
    """Frequencies to look at alone: key frequencies, their doubles, and what stands out in the
    embedding.
    """
    if components.count == 0:
        return []
    doubles = doubled(program.frequencies, program.modulus)
    return list(dict.fromkeys([*program.frequencies, *doubles, *stands_out(components)]))


def isolate(
    network: Network,
    components: PrincipalComponents,
    groups: Sequence[Sequence[int]],
    left_out: Sequence[Sequence[int]] = (),
    *,
    with_sums: bool = False,
    prepared: Prepared | None = None,
) -> Pending[LogitSums]:
    """The sums of the network's own tables, then of each group of frequencies kept alone, then of
    each left out.
    """
    first, second = isolated_tables(network, components, groups, left_out)
    return logit_sums(network, first, second, with_sums=with_sums, prepared=prepared)


def isolated_tables(
    network: Network,
    components: PrincipalComponents,
    groups: Sequence[Sequence[int]],
    left_out: Sequence[Sequence[int]] = (),
) -> tuple[Tensor, Tensor]:
    """The operand tables (n, p, width) of what `isolate` sums up."""
    # A function has no table to share.
    own = network.operand_tables() if network.cut == "none" else network.distinct_tables()
    needed = [*components.columns, group_columns(components, groups, left_out), *components.means]
    left, right, chosen, *means = upload(needed, own[0].device, own[0].dtype)
    parts = rebuilt(means, of_columns(left, right, chosen))  # (n, p, width) of each operand
    tables = []
    for own_table, part_tables in zip(own, parts, strict=False):
        tables.append(torch.cat([own_table.detach()[None], part_tables]))
    return tables[0], tables[-1]


def circles_alone(
    sums: LogitSums, frequencies: Sequence[int], components: PrincipalComponents
) -> list[CircleAlone]:
    """What each frequency does alone, from the sums of the network's own tables and of each
    kept.
    """
    if not frequencies:
        return []
    products = sums.without_offsets
    whole = max(float(products[0, 0]), TINY)
    variances = variance_by_frequency(components).numpy()
    writes = spectrum_of(sums.amplitudes) / whole
    circles = []
    for row, k in enumerate(frequencies, start=1):
        circle = CircleAlone(
            frequency=k,
            embedding_share=float(variances[k - 1]),
            share=float(products[0, row]) / whole,
            energy=float(products[row, row]) / whole,
            accuracy=float(sums.right[row]),
            writes=writes[row],
            answer=sums.following[row],
        )
        circles.append(circle)
    return circles


def grouped(
    program: Program, circles: Iterable[CircleAlone], outstanding: Iterable[int]
) -> list[list[int]]:
    """The instances' frequencies, leading ones first: key frequencies joined by the circles that
    serve them.
    """
    p = program.modulus
    alone = {circle.frequency: circle for circle in circles}
    energy = {k: circle.energy for k, circle in alone.items()}
    outstanding = set(outstanding)
    keys = [k for k in program.frequencies if reaches(energy.get(k, 0.0), LEAST_INSTANCE)]
    chains = Chains(keys)
    for k in keys:
        double = alone.get(folded(2 * k, p))
        if double is None or double.frequency == k or not _serves(double, alone[k]):
            continue
        chains.join(k, double.frequency)
        # The double's double and so on: part of the shape that the tokens draw, where the embedding
        # shows it.
        last = double.frequency
        while last not in keys:
            further = folded(2 * last, p)
            if further in chains or further not in outstanding or further not in alone:
                break
            if not reaches(energy[further], LEAST_LINK * energy[k]):
                break
            chains.join(k, further)
            last = further

    longest = max(LONGEST_CHAIN, p // 4)
    groups: list[list[int]] = []
    for chain in chains.groups():
        if len(chain) <= longest:
            groups.append(chain)
        else:
            groups += [[k] for k in chain if k in keys]
    # Leading: the key frequency that does most; then by what each does.

    def keys_first(k: int) -> tuple[bool, float, int]:
        return k not in keys, -round(energy[k], 9), k

    return [sorted(group, key=keys_first) for group in groups]


def _serves(double: CircleAlone, circle: CircleAlone) -> bool:
    """Whether a circle of twice the frequency belongs to a circle: it writes enough at that
    frequency, and little elsewhere.
    """
    at_circle = float(double.writes[circle.frequency - 1])
    at_itself = float(double.writes[double.frequency - 1])
    enough = reaches(at_circle, LEAST_LINK * circle.energy)
    orderly = reaches(at_circle + at_itself, LEAST_ORDER * double.energy)
    return bool(enough and orderly)


class Chains(Generic[Key]):
    """What belongs together: a union-find over key frequencies, or key representations, and what
    joins them.
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        self._leader: dict[Key, Key] = {k: k for k in keys}

    def __contains__(self, key: Key) -> bool:
        return key in self._leader

    def _leading(self, k: Key) -> Key:
        while self._leader[k] != k:
            k = self._leader[k]
        return k

    def join(self, k: Key, follower: Key) -> None:
        self._leader.setdefault(follower, follower)
        self._leader[self._leading(follower)] = self._leading(k)

    def groups(self) -> list[list[Key]]:
        groups: dict[Key, list[Key]] = {}
        for k in self._leader:
            groups.setdefault(self._leading(k), []).append(k)
        return list(groups.values())


def weigh_instances(
    program: Program,
    components: PrincipalComponents,
    circles: Sequence[CircleAlone],
    groups: Sequence[Sequence[int]],
    sums: LogitSums,
    adding: Sequence[Adding],
    normalized: bool = False,
) -> Instances:
    """Every instance, from the sums of the network's own tables, of each group kept and of each
    left out.

    adding: whether each group adds or multiplies.
    normalized: the network has layer norm, which rescales whatever is left of an embedding to the
        size of the whole. What instances write is then divided by one factor, the one with which
        their sum is nearest to the network.
    """
    n = len(groups)
    kept = slice(1, n + 1)
    products, following = sums.without_offsets, sums.following
    whole = max(float(products[0, 0]), TINY)
    alone = {circle.frequency: circle.answer for circle in circles}
    if normalized and products[0, kept].sum() > 0:
        factor = products[0, kept].sum() / products[kept, kept].sum()
        scale = np.ones(len(products))
        scale[kept] = factor
        products = products * np.outer(scale, scale)
        following = following * scale[:, None, None]
        alone = {k: factor * answer for k, answer in alone.items()}
    instances = []
    for row, group in enumerate(groups, start=1):
        left_out = n + row
        energy = max(float(products[row, row]), TINY)
        keys = [k for k in group if k in program.frequencies]
        forms = fitted_forms(group, keys, alone, following[row], len(components.means) > 1)
        if forms.clock + forms.pizza <= NO_AMPLITUDE * (energy / program.modulus**3) ** 0.5:
            forms = forms._replace(clock=0.0, pizza=0.0)  # a ratio of two roundings says nothing
        without = float(2 * products[0, left_out] - products[left_out, left_out])
        instance = Instance(
            frequencies=tuple(group),
            keys=tuple(keys),
            period=period_of(group[0], program.modulus),
            share=float(products[0, row]) / whole,
            energy=energy / whole,
            accuracy_alone=float(sums.right[row]),
            accuracy_without=float(sums.right[left_out]),
            share_without=without / whole,
            profile=forms.profile,
            leading_profile=forms.leading_profile,
            clock=forms.clock,
            pizza=forms.pizza,
            companion=forms.companion,
            following=forms.following / energy,
            fits={name: value / energy for name, value in forms.fits.items()},
            adding=adding[row - 1].adding,
            interaction=adding[row - 1].interaction,
        )
        instances.append(instance)
    instances.sort(key=lambda instance: (-round(instance.share, 9), instance.frequencies))
    together = float(2 * products[0, kept].sum() - products[kept, kept].sum())
    return Instances(
        instances=tuple(instances),
        circles=tuple(circles),
        additivity=together / whole if groups else 0.0,
        remainder=1.0 - sum(instance.share for instance in instances),
        outstanding=len(stands_out(components)),
    )
