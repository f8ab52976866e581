"""What the paper illustrates: the two algorithms, the accompanying Pizza, table 1, and |cos t| -
|sin t| ~ cos 2t.

Everything here is measured on the formulas or on networks made by hand, so it needs no data; table
1 takes trained networks where there are some.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.circles.formulas import (
    accompanying_by_distance,
    accompanying_logits,
    antipodal_pairs,
    clock_logits,
    failures,
    gap,
    pizza_by_distance,
    pizza_logits,
)
from algophase.analysis.logits.all_pairs import correct_logits, grid_logits
from algophase.analysis.specimen import Specimen
from algophase.core.fourier import circle, cos_turn, folded, sin_turn
from algophase.core.lines import exceeds, reaches
from algophase.core.task import labels
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.paper.illustrations import draw_accompanying, draw_algorithms, draw_approximation
from algophase.paper.measure import (
    OTHERS,
    Measurement,
    find_population,
    measure,
    measured,
    quantity,
)
from algophase.paper.product import Product, Table
from algophase.paper.rules import THRESHOLDS
from algophase.paper.sources import Exhibit, Missing, Sources, optional

FACE = 12  # the paper's everyday clock
PAIR = (8, 6)  # its first example: 8 + 6 = 2 (mod 12)
ILLUSTRATED = 13, 1, 7  # an odd modulus, and a pair that is nearly antipodal at frequency 1
PRIME = 59
EXACT = 1e-12
FORMULAS = "the paper's formulas"


# --- figure 1


def algorithms(_: Sources) -> Product:
    return Product(FORMULAS, {"": draw_algorithms(FACE, *PAIR)})


def _midpoints(modulus: int, frequency: int) -> Tensor:
    points = circle(modulus, frequency)
    return (points[:, None] + points) / 2  # (a, b, 2)


def _distances_to_lines(modulus: int) -> Tensor:
    """Of the midpoint of each pair to the line of each label c, at angle w c / 2: (a, b, c)."""
    numbers = torch.arange(modulus)
    cosine = cos_turn(numbers, 2 * modulus)
    sine = sin_turn(numbers, 2 * modulus)
    across = torch.stack([-sine, cosine], dim=-1)  # (c, 2)
    return (_midpoints(modulus, 1) @ across.T).abs()


@quantity
def midpoints_off_their_line(_: None, modulus: int) -> Measurement:
    """The largest distance of a midpoint from the line of its own label."""
    own = _distances_to_lines(modulus).gather(2, labels(modulus)[..., None])[..., 0]
    on_line = int((own <= EXACT).sum())
    return measured(own.max().item(), on_line=on_line, pairs=modulus**2)


@quantity
def midpoints_in_slices(_: None, modulus: int) -> Measurement:
    """Whether every midpoint that is not at the origin is nearest to its own label's line."""
    off_center = _midpoints(modulus, 1).norm(dim=2) > EXACT
    nearest = _distances_to_lines(modulus).argmin(dim=2) == labels(modulus)
    return measured(
        bool((nearest | ~off_center).all()),
        in_slice=int((nearest & off_center).sum()),
        off_center=int(off_center.sum()),
    )


@quantity
def antipodal_midpoints(_: None, modulus: int) -> Measurement:
    """Whether the midpoints of antipodal pairs of several labels are all at the origin."""
    first, second = antipodal_pairs(modulus, 1).T
    at_origin = _midpoints(modulus, 1)[first, second].norm(dim=1) <= EXACT
    collapsed = set(labels(modulus)[first, second].tolist())
    return measured(
        bool(at_origin.all()) and len(collapsed) > 1, pairs=len(first) // 2, labels=len(collapsed)
    )


@quantity
def failures_by_formula(_: None, modulus: int) -> Measurement:
    """Whether the Pizza fails on the antipodal pairs alone, and the Clock on none."""
    clock = failures(clock_logits(modulus, 1))
    pizza = failures(pizza_logits(modulus, 1))
    antipodal = antipodal_pairs(modulus, 1)
    return measured(
        len(clock) == 0 and pizza.tolist() == antipodal.tolist(),
        clock=len(clock),
        pizza=len(pizza),
        pairs=modulus**2,
    )


@quantity
def ranges_of_correct_logits(_: None, modulus: int) -> list[float]:
    """Of the Clock and of the Pizza."""
    ranges = []
    for logits in (clock_logits(modulus, 1), pizza_logits(modulus, 1)):
        correct = correct_logits(logits)
        ranges.append((correct.max() - correct.min()).item())
    return ranges


# --- the accompanying Pizza (appendix D)


def accompanying(_: Sources) -> Product:
    return Product(FORMULAS, {"": draw_accompanying(*ILLUSTRATED)})


def _most_antipodal(modulus: int, frequency: int) -> Tensor:
    """Which distances a - b are the farthest apart on the circle, (p,)."""
    length = pizza_by_distance(torch.arange(modulus), modulus, frequency)
    return length <= length.min() + EXACT


def _at_every_frequency(modulus: int, is_so: Callable[[int, int], bool]) -> Measurement:
    """Whether something holds of (p, k) for every k, with the count."""
    holds = [is_so(modulus, frequency) for frequency in range(1, modulus // 2 + 1)]
    return measured(all(holds), count=sum(holds), frequencies=len(holds))


@quantity
def antipodal_pairs_adjacent(_: None, modulus: int) -> Measurement:
    """The pairs farthest apart at k are one step apart at 2k."""

    def adjacent(p: int, k: int) -> bool:
        distances = torch.arange(p)[_most_antipodal(p, k)]
        return bool((folded(2 * k * distances.numpy(), p) == 1).all())

    return _at_every_frequency(modulus, adjacent)


@quantity
def gaps_doubled(_: None, modulus: int) -> Measurement:
    """The gap at k is twice that at 2k."""

    def doubled(p: int, k: int) -> bool:
        first = gap(p, k)
        second = gap(p, 2 * k)
        assert first is not None  # p is prime
        assert second is not None
        return bool(folded(first, p) == folded(2 * second, p))

    return _at_every_frequency(modulus, doubled)


@quantity
def companion_best_for_antipodal(_: None, modulus: int) -> Measurement:
    """The accompanying formula is largest exactly where the Pizza's is smallest."""

    def best(p: int, k: int) -> bool:
        complement = accompanying_by_distance(torch.arange(p), p, k)
        largest = complement >= complement.max() - EXACT
        return bool((_most_antipodal(p, k) == largest).all())

    return _at_every_frequency(modulus, best)


@quantity
def steps_equal_formula(_: None, modulus: int, frequency: int) -> Measurement:
    """The algorithm of appendix D, step by step, against its closed form."""
    by_steps = -_midpoints(modulus, 2 * frequency) @ circle(modulus, frequency).T
    difference = by_steps - accompanying_logits(modulus, frequency)
    equal = difference.abs().max().item() <= EXACT
    return measured(equal, equality="equal" if equal else "not equal")


@quantity
def failures_made_up(_: None, modulus: int, frequencies: Sequence[int]) -> Measurement:
    """Whether hand-made Pizzas fail without accompanying ones, and never with them."""
    counts = []
    for accompanied in (False, True):
        network = handmade_pizza(modulus, tuple(frequencies), accompanied=accompanied)
        counts.append(len(failures(grid_logits(network))))
    without, with_them = counts
    return measured(
        without > 0 and with_them == 0, without=without, with_them=with_them, pairs=modulus**2
    )


# --- |cos t| - |sin t| is about cos 2t (appendix A)


def approximation(_: Sources) -> Product:
    return Product(FORMULAS, {"": draw_approximation()})


def _difference_and_wave() -> tuple[Tensor, Tensor]:
    """|cos t| - |sin t| and cos 2t at many angles."""
    angles = torch.arange(100_000, dtype=torch.float64) * (2 * torch.pi / 100_000)
    return angles.cos().abs() - angles.sin().abs(), (2 * angles).cos()


def _explained(values: Tensor, formula: Tensor) -> float:
    return 1 - ((values - formula).square().mean() / values.var(correction=0)).item()


@quantity
def cosine_less_sine(_: None) -> Measurement:
    """Of |cos t| - |sin t|, the share of the variance that cos 2t explains."""
    difference, wave = _difference_and_wave()
    amplitude = 2 * (difference * wave).mean().item()
    return measured(
        _explained(difference, wave),
        deviation=(difference - wave).abs().max().item(),
        by_best=amplitude**2 / 2 / difference.var(correction=0).item(),
        amplitude=amplitude,
    )


@quantity
def sine_less_cosine(_: None) -> float:
    """The same with the signs of appendix L.2."""
    difference, wave = _difference_and_wave()
    return _explained(-difference, wave)


# --- table 1


@dataclass(frozen=True)
class _Row:
    """A network's row of table 1. degree: of its logits in the embeddings, None where not
    measured; even: in them.
    """

    what: str
    specimen: Specimen
    degree: float | None = None
    even: bool = False

    @property
    def circular(self) -> bool:
        return bool(reaches(self.specimen.analysis.circularity, THRESHOLDS.circularity))

    @property
    def shape(self) -> str:
        return (
            f"{'Circle' if self.circular else 'not a circle'} "
            f"({self.specimen.analysis.circularity:.4f})"
        )

    @property
    def symmetric(self) -> str:
        return (
            "Yes"
            if exceeds(
                self.specimen.analysis.gradient_symmetricity, THRESHOLDS.gradient_symmetricity
            )
            else "No"
        )

    @property
    def symmetry(self) -> str:
        return f"{self.symmetric} ({self.specimen.analysis.gradient_symmetricity:.4f})"

    @property
    def operation(self) -> str:
        """Even logits of degree two are products; of degree one, absolute values."""
        if self.degree is None or not self.even:
            return "-"
        return {1: "Absolute value", 2: "Multiplication"}.get(round(self.degree), "-")

    def cells(self) -> tuple[str, ...]:
        degree = "-" if self.degree is None else f"{self.operation} (degree {self.degree:.2f})"
        return self.what, self.shape, self.symmetry, degree


def _by_hand(specimen: Specimen) -> _Row:
    logits = specimen.logits
    network = specimen.network
    first, second = network.operand_tables()
    twice, negated = (
        grid_logits(network, (factor * first, factor * second)) for factor in (2.0, -1.0)
    )
    even = (negated - logits).abs().max().item() <= EXACT * logits.abs().max().item()
    return _Row(
        "made by hand", specimen, math.log2(twice.norm().item() / logits.norm().item()), even
    )


TABLE_1: dict[str, tuple[Callable[..., Network], str]] = {
    "Clock": (handmade_clock, "model-b"),
    "Pizza": (handmade_pizza, "model-a"),
}


def _rows_of(algorithm: str) -> Callable[[Sources], list[_Row]]:
    """An algorithm's rows: the network made by hand, and the trained one where there is one."""
    handmade, role = TABLE_1[algorithm]

    def make(sources: Sources) -> list[_Row]:
        rows = [_by_hand(Specimen(handmade(PRIME)))]
        network = optional(sources.network, role)
        if network is not None:
            rows.append(_Row(network.source, network))
        return rows

    return make


def _non_circular(sources: Sources) -> Exhibit | str:
    """The first non-circular network there is, or why there is none."""
    problem = ""
    for role in ("line-like", "three-dimensional"):
        try:
            return sources.network(role)
        except Missing as error:
            problem = problem or str(error)
    return problem


OTHERS["Clock networks"] = _rows_of("Clock")
OTHERS["Pizza networks"] = _rows_of("Pizza")
OTHERS["non-circular network"] = _non_circular


def table_1(sources: Sources) -> Product:
    by_hand = []
    trained = []
    used = ["networks made by hand"]
    for algorithm in TABLE_1:
        first, *trained_rows = find_population(sources, f"{algorithm} networks")
        by_hand.append((algorithm, *first.cells()))
        for row in trained_rows:
            used.append(row.what)
            trained.append((algorithm, *row.cells()))
    rows = [*by_hand, *trained]
    network = find_population(sources, "non-circular network")
    if isinstance(network, Exhibit):
        shape = measure(sources, "non-circular network", "non_circular_shape")
        assert shape is not None
        rows.append(("Non-circular", network.source, shape.words["shape"], "N/A", "N/A"))
        used.append(network.source)
    columns = (
        "Algorithm",
        "Measured on",
        "Learned Embeddings (circularity)",
        "Gradient Symmetry (symmetricity)",
        "Required Non-linearity",
    )
    return Product("; ".join(used), tables={"": Table(columns, tuple(rows))})


@quantity
def circularities_of_rows(rows: list[_Row]) -> Measurement:
    values = [row.specimen.analysis.circularity for row in rows]
    return measured(values, sample=len(rows), shapes=", ".join(row.shape for row in rows))


@quantity
def symmetries_of_rows(rows: list[_Row]) -> Measurement:
    symmetries = ", ".join(row.symmetry for row in rows)
    return measured([row.symmetric for row in rows], sample=len(rows), symmetries=symmetries)


@quantity
def operation_by_hand(rows: list[_Row]) -> Measurement:
    """What the network made by hand computes of its embeddings."""
    return measured(rows[0].operation, degree=rows[0].degree)


@quantity
def non_circular_shape(network: Exhibit | str) -> Measurement:
    """Whether a network is a line or mixes frequencies, as Lissajous curves do."""
    if isinstance(network, str):
        return measured(None, sample=0, shape="-", what=network)
    verdict = network.analysis.paper
    is_shape = verdict.shape in ("line-like", "several frequencies")
    what = (
        f"rule: all pairs right, circularity < {THRESHOLDS.circularity}, and the first components "
        "are a line or mix frequencies, as Lissajous curves do; how often each occurs: noncirc"
    )
    shape = f"{verdict.shape or 'circle'} (circularity {network.analysis.circularity:.4f})"
    return measured(verdict.label == "non-circular" and is_shape, shape=shape, what=what)
