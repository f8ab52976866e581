"""A closer look at a linear Pizza (appendix L): matching circles, aligned weights; its readout
is in `readout`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.analysis.circles.find import Circle, find_circles, points_in_plane
from algophase.analysis.circles.formulas import accompanied_frequencies, gap
from algophase.analysis.circles.principal import PrincipalComponents, principal_components
from algophase.analysis.hidden.anatomy import SIGNIFICANT, Anatomy
from algophase.core.errors import InputError
from algophase.core.lines import exceeds
from algophase.core.palette import COLORS
from algophase.networks import Linear
from algophase.paper.measure import (
    OTHERS,
    Measurement,
    find_population,
    listed,
    measured,
    quantity,
)
from algophase.paper.product import Product, Table
from algophase.paper.sources import Exhibit, Sources
from algophase.pictures.marks import Axis, Figure, Labels, Mark, Rule
from algophase.pictures.style import new_figure
from algophase.reports.network_panels import aligned_panel, circle_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

SHOWN = 4  # circles per row; Model beta has four pizzas
SHOWN_COMPONENTS = 16


@dataclass(frozen=True)
class Opened:
    """Model beta and its anatomy."""

    exhibit: Exhibit
    network: Linear
    anatomy: Anatomy

    @property
    def published(self) -> bool:
        return self.exhibit.published

    @property
    def modulus(self) -> int:
        return self.exhibit.modulus

    @cached_property
    def unembedding(self) -> PrincipalComponents:
        return principal_components((self.network.unembed.weight,))

    @cached_property
    def matches(self) -> list[tuple[Circle, Circle]]:
        """Circles of the embedding with those of the unembedding at the same frequency."""
        written = {circle.frequency: circle for circle in self.written}
        circles = self.exhibit.circles
        return [(read, written[read.frequency]) for read in circles if read.frequency in written]

    @cached_property
    def written(self) -> list[Circle]:
        """The circles of the unembedding, the last of each frequency."""
        by_frequency = {circle.frequency: circle for circle in find_circles(self.unembedding)}
        return list(by_frequency.values())


def _open_model_beta(sources: Sources) -> Opened:
    exhibit = sources.network("model-beta")
    anatomy = exhibit.analysis.anatomy
    if anatomy is None or not anatomy.pizzas:
        raise InputError(
            f"{exhibit.source} has no Pizza among its circles that its unembedding matches"
        )
    assert isinstance(exhibit.given, Linear)  # nothing else has an anatomy
    return Opened(exhibit, exhibit.given, anatomy)


OTHERS["model-beta anatomy"] = _open_model_beta


def open_model_beta(sources: Sources) -> Opened:
    beta: Opened = find_population(sources, "model-beta anatomy")
    return beta


# --- appendix L.2: matching circles


def matching_circles(sources: Sources) -> Product:
    beta = open_model_beta(sources)
    p = beta.modulus
    pairs = beta.matches
    columns = ("frequency", "gap", "embedding: components", "variance", "roundness")
    rows = []
    for read, written in pairs:
        frequency = read.frequency
        rows.append((str(frequency), str(gap(p, frequency)), *_cells(read), *_cells(written)))
    table = Table((*columns, "unembedding: components", "variance", "roundness"), tuple(rows))
    figure = _draw_matching(pairs[:SHOWN], beta.exhibit.components, beta.unembedding, p)
    return Product(beta.exhibit.source, {"": figure}, {"": table})


@quantity
def circles_match(beta: Opened) -> Measurement:
    """Whether every circle of the unembedding has one of the same gap in the embedding."""
    p = beta.modulus
    pairs = beta.matches
    written = {circle.frequency for circle in beta.written}
    rest = [circle.frequency for circle in beta.exhibit.circles]
    rest = [frequency for frequency in rest if frequency not in written]
    unmatched = ""
    if rest:
        doubled = [k for k in rest if set(accompanied_frequencies(p, k)) & written]
        unmatched = (
            f"; {len(rest)} more in the embedding (frequencies {listed(rest)}), "
            f"{len(doubled)} of them of twice a matched one's"
        )
    gaps = ", ".join(str(gap(p, circle.frequency)) for circle, _ in pairs)
    return measured(
        len(pairs) == len(written),
        matches=len(pairs),
        written=len(written),
        gaps=gaps,
        others=unmatched,
    )


def _cells(circle: Circle) -> tuple[str, str, str]:
    return (
        "-".join(map(str, circle.components)),
        f"{circle.variance_share:.1%}",
        f"{circle.roundness:.3f}",
    )


@quantity
def explained_by_even_rounds(beta: Opened) -> float:
    """How much of the points of each circle, at least, is one round at its frequency: (cos w a,
    sin w a), turned and scaled.
    """
    explained = []
    for read, written in beta.matches:
        sides = (read, beta.exhibit.components), (written, beta.unembedding)
        for circle, side in sides:
            points = points_in_plane(side, circle)[0]
            wave, _ = _even_round(points, circle.frequency)
            variance = points.double().square().sum(dim=1).mean().item()
            explained.append(wave.abs().square().mean().item() / variance)
    return min(explained)


def _even_round(points: Tensor, frequency: int) -> tuple[Tensor, float]:
    """The best even round of one frequency to points (p, 2), complex (p,), and its radius."""
    z = torch.complex(*points.double().T)
    angle = 2 * torch.pi * frequency * torch.arange(len(z)) / len(z)
    rounds = [torch.exp(sign * 1j * angle) for sign in (1, -1)]  # either way round
    weights = [(z * turn.conj()).mean() for turn in rounds]
    best = int(weights[1].abs() > weights[0].abs())
    return weights[best] * rounds[best], weights[best].abs().item()


def _draw_labeled(axes: "Axes", points: Tensor, frequency: int, color: str) -> None:
    """Points with their tokens in two rings outside, evenly spaced so that none overlap, and a
    line from each to its point.
    """
    wave, radius = _even_round(points, frequency)
    reach = max(radius, points.norm(dim=1).max().item())
    for index, token in enumerate(circle_order(len(points), frequency).tolist()):
        ring = (
            1.64 if index == 0 and len(points) % 2 else (1.2, 1.42)[index % 2]
        )  # at odd p two neighbors would share one
        where = torch.view_as_real(wave[token] / radius * reach * ring).tolist()
        axes.plot(
            *zip(points[token].tolist(), where, strict=True), color="0.8", linewidth=0.4, zorder=0
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
        axes.text(
            where[0],
            where[1],
            str(token),
            fontsize=5.5,
            ha="center",
            va="center",
            color=color,
            bbox=box,
        )
    axes.scatter(points[:, 0], points[:, 1], s=6, color=color, linewidths=0)
    axes.set(xlim=(-1.74 * reach, 1.74 * reach), ylim=(-1.74 * reach, 1.74 * reach), aspect="equal")


def _draw_matching(
    pairs: list[tuple[Circle, Circle]],
    embedding: PrincipalComponents,
    unembedding: PrincipalComponents,
    p: int,
) -> "Drawn":
    figure = new_figure(max(3.4, 2.2 * len(pairs)), 4.9)
    panels = figure.subplots(2, len(pairs), squeeze=False)
    for row, (side, name) in enumerate(((embedding, "embedding"), (unembedding, "unembedding"))):
        for column, pair in enumerate(pairs):
            circle = pair[row]
            axes = panels[row, column]
            points = points_in_plane(side, circle)[0]
            color = COLORS[0] if row == 0 else COLORS[5]
            _draw_labeled(axes, points, circle.frequency, color)
            first, second = ("axis 1", "axis 2")
            if circle.method == "components":
                first, second = map(str, circle.components[:2])
            axes.set(xlabel=f"{name} {first}", ylabel=f"{name} {second}")
            if row == 0:
                axes.set_title(f"k = {circle.frequency}, gap {gap(p, circle.frequency)}")
    figure.suptitle("Principal components of embedding (top) and unembedding (bottom)")
    return figure


# --- appendix L.3: aligned weights


def aligned_weights(sources: Sources) -> Product:
    beta = open_model_beta(sources)
    return Product(beta.exhibit.source, {"": _domino_figure(beta.anatomy)})


@quantity
def second_relu(beta: Opened, number: str) -> float:
    """A number of the network with its second ReLU or without: accuracy_without, cross_entropy
    or cross_entropy_without.
    """
    idle = beta.anatomy.second_relu
    if idle is None:
        source = beta.exhibit.source
        raise InputError(f"{source} has no second ReLU; choose a model beta or gamma")
    value: float = getattr(idle, number)
    return value


@quantity
def positive_inputs_of_second_relu(beta: Opened) -> float:
    _, cache = beta.network.run_with_cache()
    return (cache["l2.hook_pre"] > 0).double().mean().item()


def _pair_strengths(aligned: Tensor) -> Tensor:
    """Of weights (units, components), the larger of each pair of components: (units, pairs)."""
    even = aligned.shape[1] // 2 * 2
    return aligned[:, :even].abs().unflatten(1, (-1, 2)).amax(dim=2)


@quantity
def units_of_one_pair(beta: Opened, weights: str) -> Measurement:
    """Whether most of the units with any significant weight have them in one pair of components:
    of aligned W_1 or W_2.
    """
    anatomy = beta.anatomy
    aligned = anatomy.aligned_w1 if weights == "W_1" else anatomy.aligned_w2.T
    significant = exceeds(_pair_strengths(aligned), SIGNIFICANT)  # (units, pairs)
    pairs = significant.sum(dim=1)
    used = int((pairs > 0).sum())
    alone = int((pairs == 1).sum())
    circles = {circle.components: circle.frequency for circle in beta.exhibit.circles}
    return measured(
        2 * alone > used,
        used=used,
        alone=alone,
        at_other_lines=_at_other_lines(aligned),
        with_company=_read_with_company(significant, circles, beta.modulus),
    )


@quantity
def units_of_one_pizza(beta: Opened) -> list[float]:
    """Units that read one pizza alone, of those that read any; and that write to the one they
    read.
    """
    return [beta.anatomy.exclusive_share, beta.anatomy.same_pizza_share]


def _at_other_lines(weights: Tensor) -> str:
    """How many units have one significant pair, were "significant" more."""
    counts = []
    for line in (0.25, 0.4):
        pairs = exceeds(_pair_strengths(weights), line).sum(dim=1)
        counts.append(f"at {line:g} {int((pairs == 1).sum())} of {int((pairs > 0).sum())}")
    return ", ".join(counts)


def _read_with_company(significant: Tensor, circles: dict[tuple[int, ...], int], p: int) -> int:
    """Units whose significant pairs are two circles of which one has twice the other's
    frequency.
    """
    count = 0
    for row in significant:
        pairs = row.nonzero().flatten().tolist()
        if len(pairs) != 2:
            continue
        first, second = (circles.get((2 * pair + 1, 2 * pair + 2)) for pair in pairs)
        if first is None or second is None:
            continue
        is_first = first in accompanied_frequencies(p, second)
        count += is_first or second in accompanied_frequencies(p, first)
    return count


def _domino_figure(anatomy: Anatomy) -> Figure:
    """Hidden units by the pizza they read most, round its circle; those that read none come
    last.
    """
    reading = anatomy.aligned_w1
    planes = []
    for pizza in anatomy.pizzas:
        columns = [number - 1 for number in pizza.embedding_components[:2]]
        planes.append(reading[:, columns])
    strength = torch.stack([plane.abs().amax(dim=1) for plane in planes])  # (pizzas, units)
    most, strongest = strength.max(dim=0)
    group = strongest.where(most > SIGNIFICANT, torch.tensor(len(planes)))
    angles = torch.stack([torch.atan2(plane[:, 1], plane[:, 0]) for plane in planes])
    angle = angles.gather(0, strongest[None])[0]
    order = sorted(range(len(reading)), key=lambda unit: (int(group[unit]), float(angle[unit])))
    edges = list[Mark]()
    names = list[tuple[float, str]]()
    start = 0
    for index in range(len(planes) + 1):
        size = int((group == index).sum())
        if size == 0:
            continue
        name = f"k = {anatomy.pizzas[index].frequency}" if index < len(planes) else "none"
        names.append((start + size / 2 - 0.5, name))
        start += size
        if start < len(order):
            edges.append(Rule(x=start - 0.5, dash="-", width=0.6))
    w1 = reading[:, :SHOWN_COMPONENTS].T
    w2 = anatomy.aligned_w2[:SHOWN_COMPONENTS]
    rows = []
    by_circle = "output dimension (hidden unit), by the circle it reads"
    same_order = "source dimension (hidden unit), in the same order"
    sides = (
        (w1, "embedding", "aligned $W_1$", by_circle),
        (w2, "unembedding", "aligned $W_2$", same_order),
    )
    for matrix, side, name, axis in sides:
        panel = aligned_panel(matrix[:, order], side, name)
        heights = [len(matrix) - 0.4] * len(names)
        groups = Labels(
            x=[middle for middle, _ in names],
            y=heights,
            texts=[text for _, text in names],
            size=8,
            side="above",
        )
        marks = [*panel.marks, *edges, groups]
        # The names of the groups stand between the weights and the title.
        title = f"{panel.title}\n"
        rows.append([replace(panel, marks=marks, x=Axis(name=axis), title=title)])
    return Figure(rows=rows, width=7.0, height=5.0)
