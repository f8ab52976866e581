"""Sections 2 and 4.1 and appendix B: gradients and correct logits of Models A and B, and
embeddings that are no circles.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.analysis.circles.principal import frequency_shares
from algophase.core.lines import falls_short, reaches
from algophase.core.palette import COLORS
from algophase.paper.measure import Measurement, measured, quantity
from algophase.paper.plates import logits_in_steps
from algophase.paper.populations import circles_of
from algophase.paper.product import Product
from algophase.paper.rules import HALF, THRESHOLDS
from algophase.paper.sources import Exhibit, Sources, source_of
from algophase.pictures.marks import Figure, Legend
from algophase.pictures.style import HEATMAP, new_figure
from algophase.reports.figures import gradient_panels
from algophase.reports.network_panels import circle_order
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

TRIPLES = 3


def _a_and_b(sources: Sources) -> tuple[Exhibit, Exhibit]:
    return sources.network("model-a"), sources.network("model-b")


def gradients(sources: Sources) -> Product:
    networks = _a_and_b(sources)
    rows = []
    for network in networks:
        panels = gradient_panels(network, TRIPLES)
        rows.append([replace(panel, title=f"{network.name}\n{panel.title}") for panel in panels])
    legend = Legend(columns=3)
    figure = Figure(rows=rows, width=2.4 * TRIPLES, height=6.0, legend=legend)
    return Product(source_of(*networks), {"": figure})


def whole_logits(sources: Sources) -> Product:
    networks = _a_and_b(sources)
    panels = []
    for network in networks:
        # No one circle is the whole network's: rows and columns step by the spacing of its largest.
        frequency = network.evidence[0].circle.frequency if network.evidence else 1
        panel = logits_in_steps(network.whole.logits, frequency, "correct logit")
        irrelevance = network.analysis.distance_irrelevance
        name = f"{network.name} ({network.network.id})"
        panels.append(replace(panel, title=f"{name}\ndistance irrelevance {irrelevance:.2f}"))
    figure = Figure(rows=[panels], width=7.2, height=3.3)
    return Product(source_of(*networks), {"": figure})


@quantity
def gradient_symmetricity(network: Exhibit) -> float:
    return network.analysis.gradient_symmetricity


@quantity
def distance_irrelevance(network: Exhibit) -> float:
    return network.analysis.distance_irrelevance


@quantity
def distance_irrelevances(networks: tuple[Exhibit, ...]) -> list[float]:
    return [network.analysis.distance_irrelevance for network in networks]


@quantity
def circularity(network: Exhibit) -> float:
    return network.circularity


@quantity
def circularities(networks: tuple[Exhibit, ...]) -> list[float]:
    return [network.circularity for network in networks]


@quantity
def exact_symmetricities(networks: tuple[Exhibit, ...]) -> Measurement:
    """Gradient symmetricity over all triples of tokens, not the paper's 100."""
    values = [network.analysis.gradient_symmetricity_exact for network in networks]
    return measured(values, triples=networks[0].modulus ** 3)


@quantity
def variance_of_first_components(networks: tuple[Exhibit, ...], count: int) -> list[float]:
    """The share of the embedding's variance that its first principal components have."""
    return [network.components.variance_share[:count].sum().item() for network in networks]


@quantity
def paper_label(network: Exhibit) -> Measurement:
    analysis = network.analysis
    return measured(
        analysis.paper_label,
        irrelevance=analysis.distance_irrelevance,
        symmetricity=analysis.gradient_symmetricity,
    )


@quantity
def paper_labels(networks: tuple[Exhibit, ...]) -> list[str]:
    return [network.analysis.paper_label for network in networks]


def straightness(coordinate: Tensor) -> float:
    """The largest correlation with a straight line over k t + s (mod p), the tokens t re-arranged
    by any k and s.

    A wave has 0.78 = sqrt(6) / pi.
    """
    p = len(coordinate)
    ramp = torch.arange(p, dtype=coordinate.dtype) - (p - 1) / 2
    centered = coordinate - coordinate.mean()
    best = 0.0
    for k in range(1, p // 2 + 1):
        ordered = centered[circle_order(p, k)]
        products = torch.fft.irfft(
            torch.fft.rfft(ordered) * torch.fft.rfft(ramp).conj(), n=p
        )  # one for every s
        best = max(best, products.abs().max().item())
    return best / (centered.norm() * ramp.norm()).item()


@quantity
def line_like(network: Exhibit, straight: float) -> Measurement:
    """Whether the first component is a line: by the network's shape, or in some order of tokens.
    A network that is no line does not speak against it.
    """
    straight_by = straightness(network.components.coordinates[0, :, 0])
    shares = frequency_shares(network.components)[0]
    frequency = int(shares.argmax()) + 1
    shape = network.analysis.paper.shape
    is_line = shape == "line-like" or reaches(straight_by, straight)
    return measured(
        True if is_line else None,
        straightness=straight_by,
        share=shares[frequency - 1].item(),
        frequency=frequency,
        shape=shape,
    )


@quantity
def embedding_shape(network: Exhibit) -> Measurement:
    shape = network.analysis.paper.shape
    return measured(shape, shape=shape, of_three=network.components.variance_share[:3].sum().item())


@quantity
def without_round_circle(networks: tuple[Exhibit, ...], round: float) -> Measurement:
    """Whether the circle that a plane of each network shows most purely is impure, or not round."""
    circles = []
    no_circle = True
    for network in networks:
        purest = max(network.evidence, key=lambda item: item.circle.purity, default=None)
        if purest is None:
            circles.append(f"{network.name}: no circle")
            continue
        circle = purest.circle
        circles.append(
            f"{network.name}: k = {circle.frequency}, purity {circle.purity:.4f}, roundness "
            f"{circle.roundness:.2f}"
        )
        impure = falls_short(circle.purity, THRESHOLDS.circularity)
        no_circle = no_circle and bool(impure or falls_short(circle.roundness, round))
    return measured(no_circle, circles="; ".join(circles))


def _non_circular(runs: Runs) -> Runs:
    runs.require(("paper_label", "shape"))
    return runs.where(runs["paper_label"] == "non-circular")


@quantity
def non_circular_of_shape(runs: Runs, shape: str) -> Measurement:
    """Of the non-circular runs, those of a shape."""
    chosen = _non_circular(runs)
    return measured(chosen.share(chosen["shape"] == shape), source=runs.source)


@quantity
def non_circular_of_round_circles(runs: Runs, round: float) -> Measurement | None:
    """Of the non-circular runs, those in which round circles have half of the variance."""
    chosen = _non_circular(runs)
    if "circles.roundness" not in chosen:
        return None
    count = 0
    for circles in circles_of(chosen, "variance_share", "roundness"):
        of_round = sum(share for share, roundness in circles if reaches(roundness, round))
        count += bool(reaches(of_round, HALF))
    return measured(Share(count, len(chosen)), source=runs.source)


def not_circular(sources: Sources) -> Product:
    line = sources.network("line-like")
    curve = sources.network("three-dimensional")
    frequency = int(frequency_shares(line.components)[0].argmax()) + 1
    return Product(source_of(line, curve), {"": _draw_not_circular(line, frequency, curve)})


def _draw_not_circular(line: Exhibit, frequency: int, curve: Exhibit) -> "Drawn":
    figure = new_figure(7.2, 5.6)
    upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.1), squeeze=False).flatten().tolist()
    axes = upper.subplots()
    order = circle_order(line.modulus, frequency)
    positions = torch.arange(line.modulus)
    axes.plot(
        positions,
        line.components.coordinates[0, order, 0],
        color=COLORS[0],
        linewidth=1,
        marker="o",
        markersize=3,
    )
    axes.set_xticks(
        positions.tolist(), [str(token) for token in order.tolist()], fontsize=6.5, rotation=90
    )
    axes.set(
        xlim=(-1, line.modulus),
        xlabel="token, in the order of the component's frequency",
        ylabel="component 1",
    )
    upper.suptitle(f"{line.name} ({line.network.id}): first principal component", fontsize=9)
    strongest = int(frequency_shares(curve.components)[0].argmax()) + 1
    points = curve.components.coordinates[0, circle_order(curve.modulus, strongest), :3]
    positions = torch.arange(curve.modulus)
    grid = lower.add_gridspec(1, 3, width_ratios=(1.4, 1, 1))
    space = lower.add_subplot(grid[0], projection="3d")
    space.plot(*points.T.numpy(), color="0.75", linewidth=0.6)
    space.scatter(*points.T.numpy(), c=positions, cmap=HEATMAP, s=12, depthshade=False)
    for axis, name in zip((space.xaxis, space.yaxis, space.zaxis), "123", strict=True):
        axis.set_ticklabels([])
        axis.set_label_text(f"component {name}", fontsize=8)
        axis.labelpad = -8
    space.set_box_aspect(None, zoom=0.95)
    for panel, (x, y) in enumerate(((0, 1), (0, 2))):
        flat = lower.add_subplot(grid[panel + 1])
        flat.plot(points[:, x], points[:, y], color="0.75", linewidth=0.6)
        colored = flat.scatter(
            points[:, x], points[:, y], c=positions, cmap=HEATMAP, s=12, zorder=3
        )
        flat.set(xlabel=f"component {x + 1}", ylabel=f"component {y + 1}")
    label = "place of the token in the order of component 1's frequency"
    lower.colorbar(colored, ax=lower.axes, label=label, location="bottom", shrink=0.5, aspect=40)
    lower.suptitle(
        f"{curve.name} ({curve.network.id}): first three principal components", fontsize=9
    )
    return figure
