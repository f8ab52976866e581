"""Instances: the small algorithms that run side by side in a network, each isolated, named and
weighed by itself.

Keep one circle of the embedding and look at the logits: it writes at its own frequency k, as a
Clock or a Pizza does, or at half of it, as the circle that accompanies one (appendix D). An
*instance* is a key frequency of the program with the circles
that belong to it: k, its double 2k if that alone writes at k, and the double's double as long as
none is a key frequency with an instance of its own. A circle that serves two key frequencies joins
them into one instance.

With X the network's logits, Y_i those with instance i kept, all without their offsets in c,

    additivity   1 - |X - sum_i Y_i|^2 / |X|^2      how well the account holds
    share_i      <X, Y_i> / |X|^2                   shares and the remainder add to 1

A circle is kept as in the paper: in its two principal components where those are both waves of its
frequency, else in its Fourier modes. Which frequencies are looked at follows from the logits and
the embedding alike: key frequencies, their doubles, and what stands out in the embedding. So a
network with all frequencies in use has as many instances.

Its form is read from its own profile: see `forms`.

Three rounds, each queued on the device without waiting: the program, every circle alone, the
instances alone and left out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

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
from algophase.analysis.logits.sums import Array, LogitSums, launch_sums
from algophase.analysis.program.read import Program, spectrum_of
from algophase.analysis.program.shapes import LONGEST_SHORT_CYCLE, fitted_forms, period_of
from algophase.analysis.verdict.lines import reaches
from algophase.networks import Network
from algophase.networks.pair_logits import Prepared

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
        return (
            f"<Instances {[each.frequencies for each in self.instances]}: additivity "
            f"{self.additivity:.2%}>"
        )


def folded(frequency: int, modulus: int) -> int:
    """The frequency in 0..p/2 of the same circle."""
    return min(frequency % modulus, -frequency % modulus)


def stands_out(components: PrincipalComponents) -> list[int]:
    """Frequencies that stand out in the embedding, p/2 included."""
    if components.count == 0:
        return []
    total = variance_by_frequency(components).numpy()
    median = float(
        np.sort(total)[[(len(total) - 1) // 2, len(total) // 2]].mean()
    )  # np.median takes ten times as long
    line = max(LEAST_VARIANCE_SHARE, min(STANDS_OUT * median, ALWAYS_STANDS_OUT))
    return (np.flatnonzero(reaches(total, line)) + 1).tolist()


def doubled(frequencies: Iterable[int], modulus: int) -> list[int]:
    """The circles of twice these frequencies. That of p/2 is a point."""
    return [double for double in (folded(2 * k, modulus) for k in frequencies) if double > 0]


def candidates(found: Program, components: PrincipalComponents) -> list[int]:
    """Frequencies to look at alone: key frequencies, their doubles, and what stands out in the
    embedding.
    """
    doubles = doubled(found.frequencies, found.modulus)
    return (
        list(dict.fromkeys([*found.frequencies, *doubles, *stands_out(components)]))
        if components.count
        else []
    )


def launch_groups(
    network: Network,
    components: PrincipalComponents,
    groups: Sequence[Sequence[int]],
    left_out: Sequence[Sequence[int]] = (),
    *,
    with_sums: bool = False,
    prepared: Prepared | None = None,
) -> Tensor:
    """Start on the logits of the network's own tables, of each group of frequencies kept and of
    each left out, where it is.

    A flat tensor for `read_sums`.
    """
    own = (
        network.operand_tables() if network.cut == "none" else network.distinct_tables()
    )  # a function has no table to share
    needed = [*components.columns, group_columns(components, groups, left_out), *components.means]
    left, right, chosen, *means = upload(needed, own[0].device, own[0].dtype)
    parts = rebuilt(means, of_columns(left, right, chosen))  # (n, p, width) of each operand
    tables = [torch.cat([one.detach()[None], some]) for one, some in zip(own, parts, strict=False)]
    return launch_sums(network, tables[0], tables[-1], with_sums=with_sums, prepared=prepared)


def read_circles(
    found: LogitSums, frequencies: Sequence[int], components: PrincipalComponents
) -> list[CircleAlone]:
    """What each frequency does alone, from the sums of the network's own tables and of each
    kept.
    """
    products, following = found.without_offsets, found.following
    whole = max(float(products[0, 0]), np.finfo(np.float64).tiny)
    carried = variance_by_frequency(components).numpy() if frequencies else np.zeros(0)
    written = spectrum_of(found.amplitudes) / whole
    return [
        CircleAlone(
            k,
            float(carried[k - 1]),
            float(products[0, i]) / whole,
            float(products[i, i]) / whole,
            float(found.right[i]),
            written[i],
            following[i],
        )
        for i, k in enumerate(frequencies, start=1)
    ]


def grouped(
    found: Program, circles: Iterable[CircleAlone], outstanding: Iterable[int]
) -> list[list[int]]:
    """The instances' frequencies, leading ones first: key frequencies joined by the circles that
    serve them.
    """
    p, alone, outstanding = (
        found.modulus,
        {circle.frequency: circle for circle in circles},
        set(outstanding),
    )
    keys = [k for k in found.frequencies if k in alone and reaches(alone[k].energy, LEAST_INSTANCE)]
    leader = {k: k for k in keys}

    def leading(k: int) -> int:
        while leader[k] != k:
            k = leader[k]
        return k

    for k in keys:
        double = alone.get(folded(2 * k, p))
        if double is None or double.frequency == k:
            continue
        written = float(double.writes[k - 1])
        if not reaches(written, LEAST_LINK * alone[k].energy):
            continue
        if not reaches(
            written + float(double.writes[double.frequency - 1]), LEAST_ORDER * double.energy
        ):
            continue
        _join(leader, leading, k, double.frequency)
        # The double's double and so on: part of the shape that the tokens draw, where the embedding
        # shows it.
        last, further = double.frequency, folded(2 * double.frequency, p)
        while (
            last not in keys
            and further not in leader
            and further in outstanding
            and further in alone
        ):
            if not reaches(alone[further].energy, LEAST_LINK * alone[k].energy):
                break
            _join(leader, leading, k, further)
            last, further = further, folded(2 * further, p)
    groups: dict[int, list[int]] = {}
    for k in leader:
        groups.setdefault(leading(k), []).append(k)
    longest = max(LONGEST_CHAIN, p // 4)
    apart = [part for group in groups.values() for part in _taken_apart(group, keys, longest)]
    energy = {k: alone[k].energy for k in alone}
    # Leading: the key frequency that does most; then by what each does.
    return [
        sorted(group, key=lambda k: (k not in keys, -round(energy[k], 9), k)) for group in apart
    ]


def _taken_apart(group: list[int], keys: Sequence[int], longest: int) -> list[list[int]]:
    return [group] if len(group) <= longest else [[k] for k in group if k in keys]


def _join(leader: dict[int, int], leading: Callable[[int], int], k: int, other: int) -> None:
    leader.setdefault(other, other)
    leader[leading(other)] = leading(k)


def read_instances(
    found: Program,
    components: PrincipalComponents,
    circles: Sequence[CircleAlone],
    groups: Sequence[Sequence[int]],
    sums: LogitSums,
    normalised: bool = False,
) -> Instances:
    """Every instance, from the sums of the network's own tables, of each group kept and of each
    left out.

    normalised: the network has layer norm, which rescales whatever is left of an embedding to the
        size of the whole. What
    instances write is then divided by one factor, the one with which their sum is nearest to the
    network.
    """
    n, products, following = len(groups), sums.without_offsets, sums.following
    whole = max(float(products[0, 0]), np.finfo(np.float64).tiny)
    alone, kept = {circle.frequency: circle.answer for circle in circles}, slice(1, n + 1)
    if normalised and products[0, kept].sum() > 0:
        scale = np.ones(len(products))
        scale[kept] = factor = products[0, kept].sum() / products[kept, kept].sum()
        products, following = products * np.outer(scale, scale), following * scale[:, None, None]
        alone = {k: factor * answer for k, answer in alone.items()}
    turned = len(components.means) > 1
    instances = []
    for i, group in enumerate(groups, start=1):
        left, energy = n + i, max(float(products[i, i]), np.finfo(np.float64).tiny)
        keys = [k for k in group if k in found.frequencies]
        forms = fitted_forms(found.modulus, group, keys, alone, following[i], turned)
        if forms.clock + forms.pizza <= NO_AMPLITUDE * (energy / found.modulus**3) ** 0.5:
            forms = forms._replace(clock=0.0, pizza=0.0)  # a ratio of two roundings says nothing
        instances.append(
            Instance(
                frequencies=tuple(group),
                keys=tuple(keys),
                period=period_of(group[0], found.modulus),
                share=float(products[0, i]) / whole,
                energy=energy / whole,
                accuracy_alone=float(sums.right[i]),
                accuracy_without=float(sums.right[left]),
                share_without=float(2 * products[0, left] - products[left, left]) / whole,
                profile=forms.profile,
                leading_profile=forms.leading_profile,
                clock=forms.clock,
                pizza=forms.pizza,
                companion=forms.companion,
                following=forms.following / energy,
                fits={name: value / energy for name, value in forms.fits.items()},
            )
        )
    instances.sort(key=lambda each: (-round(each.share, 9), each.frequencies))
    together = 2 * products[0, kept].sum() - products[kept, kept].sum()
    additivity = float(together) / whole if n else 0.0
    remainder = 1.0 - sum(each.share for each in instances)
    return Instances(
        tuple(instances), tuple(circles), additivity, remainder, len(stands_out(components))
    )
