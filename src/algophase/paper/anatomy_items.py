"""A closer look at a linear Pizza (appendix L): matching circles, aligned weights; its readout
is in `readout`.
"""

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
from algophase.paper.product import Claim, Product, Table
from algophase.paper.rules import MOST, NEARLY_ALL, approximated, judged, measured, statement
from algophase.paper.sources import Exhibit, Sources
from algophase.pictures.style import new_figure
from algophase.reports.figures import circle_order, draw_aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 4  # circles per row; Model beta has four pizzas
SHOWN_COMPONENTS = 16


def open_model_beta(sources: Sources) -> tuple[Exhibit, Linear, Anatomy]:
    found = sources.network("model-beta")
    opened = found.analysis.anatomy
    if opened is None or not opened.pizzas:
        raise InputError(
            f"{found.source} has no Pizza among its circles that its unembedding matches"
        )
    assert isinstance(found.given, Linear)  # nothing else has an anatomy
    return found, found.given, opened


def both_sides(found: Exhibit, network: Linear) -> tuple[PrincipalComponents, PrincipalComponents]:
    """Components of the embedding and of the unembedding."""
    return found.components, principal_components((network.unembed.weight,))


def matching_circles(sources: Sources) -> Product:
    found, network, _ = open_model_beta(sources)
    p = network.task.modulus
    embedding, unembedding = both_sides(found, network)
    read = {circle.frequency: circle for circle in found.circles}
    written = {circle.frequency: circle for circle in find_circles(unembedding)}
    pairs = [(read[k], written[k]) for k in read if k in written]
    figure = _draw_matching(pairs[:SHOWN], embedding, unembedding, p)
    rest = [k for k in read if k not in written]
    accompanying = [k for k in rest if set(accompanied_frequencies(p, k)) & written.keys()]
    note = "rule: every circle of the unembedding has one of the same gap in the embedding"
    if rest:
        extra = ", ".join(map(str, rest))
        note += (
            f"; {len(rest)} more in the embedding (frequencies {extra}), "
            f"{len(accompanying)} of them of twice a matched one's"
        )
    gaps = ", ".join(str(gap(p, circle.frequency)) for circle, _ in pairs)
    claims = (
        statement(
            "embedding and unembedding form matching circles, with the same gap between "
            "adjacent entries",
            len(pairs) == len(written),
            f"{len(pairs)} of {len(written)} match; gaps {gaps}",
            note,
        ),
        _circle_form(pairs, embedding, unembedding),
    )
    columns = ("frequency", "gap", "embedding: components", "variance", "roundness")
    table = Table(
        (*columns, "unembedding: components", "variance", "roundness"),
        tuple(
            (str(a.frequency), str(gap(p, a.frequency)), *_cells(a), *_cells(b)) for a, b in pairs
        ),
    )
    return Product(found.source, {"": figure}, {"": table}, claims)


def _cells(circle: Circle) -> tuple[str, str, str]:
    return (
        "-".join(map(str, circle.components)),
        f"{circle.variance_share:.1%}",
        f"{circle.roundness:.3f}",
    )


def _circle_form(pairs: list[tuple[Circle, Circle]], *sides: PrincipalComponents) -> Claim:
    """How much of the points of each circle is one round at its frequency: (cos w a, sin w a),
    turned and scaled.
    """
    explained = []
    for pair in pairs:
        for circle, side in zip(pair, sides, strict=True):
            points = points_in_plane(side, circle)[0]
            wave, _ = _even_round(points, circle.frequency)
            explained.append(
                wave.abs().square().mean().item()
                / points.double().square().sum(dim=1).mean().item()
            )
    text, least = (
        "W_E'[a] and W_U'[a] are about (cos w a, sin w a), turned and scaled",
        min(explained),
    )
    return approximated(
        text, least, f"at least {least:.2%} of the variance of each circle", published="≈"
    )


def _even_round(points: Tensor, frequency: int) -> tuple[Tensor, float]:
    """The best even round of one frequency to points (p, 2), complex (p,), and its radius."""
    z = torch.complex(*points.double().T)
    angle = 2 * torch.pi * frequency * torch.arange(len(z)) / len(z)
    rounds = [torch.exp(sign * 1j * angle) for sign in (1, -1)]  # either way round
    weights = [(z * each.conj()).mean() for each in rounds]
    best = int(weights[1].abs() > weights[0].abs())
    return weights[best] * rounds[best], weights[best].abs().item()


def _draw_labelled(axes: "Axes", points: Tensor, frequency: int, colour: str) -> None:
    """Points with their tokens in two rings outside, evenly spaced so that none overlap, and a
    line from each to its point.
    """
    wave, radius = _even_round(points, frequency)
    reach = max(radius, points.norm(dim=1).max().item())
    for place, token in enumerate(circle_order(len(points), frequency).tolist()):
        ring = (
            1.64 if place == 0 and len(points) % 2 else (1.2, 1.42)[place % 2]
        )  # at odd p two neighbours would share one
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
            color=colour,
            bbox=box,
        )
    axes.scatter(points[:, 0], points[:, 1], s=6, color=colour, linewidths=0)
    axes.set(xlim=(-1.74 * reach, 1.74 * reach), ylim=(-1.74 * reach, 1.74 * reach), aspect="equal")


def _draw_matching(
    pairs: list[tuple[Circle, Circle]],
    embedding: PrincipalComponents,
    unembedding: PrincipalComponents,
    p: int,
) -> "Figure":
    figure = new_figure(max(3.4, 2.2 * len(pairs)), 4.9)
    panels = figure.subplots(2, len(pairs), squeeze=False)
    for row, (side, name) in enumerate(((embedding, "embedding"), (unembedding, "unembedding"))):
        for column, pair in enumerate(pairs):
            circle, axes = pair[row], panels[row, column]
            _draw_labelled(
                axes,
                points_in_plane(side, circle)[0],
                circle.frequency,
                COLORS[0] if row == 0 else COLORS[5],
            )
            first, second = (
                circle.components[:2] if circle.method == "components" else ("axis 1", "axis 2")
            )
            axes.set(xlabel=f"{name} {first}", ylabel=f"{name} {second}")
            if row == 0:
                axes.set_title(f"k = {circle.frequency}, gap {gap(p, circle.frequency)}")
    figure.suptitle("Principal components of embedding (top) and unembedding (bottom)")
    return figure


def aligned_weights(sources: Sources) -> Product:
    found, network, opened = open_model_beta(sources)
    claims = [*_second_relu_claims(found, network, opened), *_domino_claims(found, opened)]
    return Product(found.source, {"": _draw_domino(opened)}, claims=tuple(claims))


def _second_relu_claims(found: Exhibit, network: Linear, opened: Anatomy) -> list[Claim]:
    idle = opened.second_relu
    if idle is None:
        raise InputError(f"{found.source} has no second ReLU; choose a model beta or gamma")
    _, cache = network.run_with_cache()
    positive = (cache["l2.hook_pre"] > 0).double().mean().item()
    text = "the second ReLU's inputs are positive in the majority"
    return [
        measured(
            "beta-accuracy-without-relu",
            found,
            idle.accuracy_without,
            f"{idle.accuracy_without:.2%}",
        ),
        measured("beta-cross-entropy", found, idle.cross_entropy, f"{idle.cross_entropy:.3e}"),
        measured(
            "beta-cross-entropy-without-relu",
            found,
            idle.cross_entropy_without,
            f"{idle.cross_entropy_without:.3e}",
        ),
        judged(text, exceeds(positive, MOST), f"{positive:.2%}", "more than half"),
    ]


def _pair_strengths(aligned: Tensor) -> Tensor:
    """Of weights (units, components), the larger of each pair of components: (units, pairs)."""
    even = aligned.shape[1] // 2 * 2
    return aligned[:, :even].abs().unflatten(1, (-1, 2)).amax(dim=2)


def _domino_claims(found: Exhibit, opened: Anatomy) -> list[Claim]:
    circles = {circle.components: circle.frequency for circle in found.circles}
    claims = []
    for name, what, weights in (
        ("W_1", "output", opened.aligned_w1),
        ("W_2", "source", opened.aligned_w2.T),
    ):
        significant = exceeds(_pair_strengths(weights), SIGNIFICANT)  # (units, pairs)
        pairs = significant.sum(dim=1)
        used, alone = int((pairs > 0).sum()), int((pairs == 1).sum())
        note = (
            f"rule: more than half of the {used} units with any |coefficient| > "
            f"{SIGNIFICANT:g} have them in one pair of "
        )
        note += (
            f"components (the line at {SIGNIFICANT:g} is the text's; {_at_other_lines(weights)})"
        )
        if name == "W_1":
            with_company = _read_with_company(significant, circles, found.modulus)
            note += f"; {with_company} read one pizza and its accompanying circle, and no other"
        text = (
            f"aligned {name}: in most {what} dimensions only two principal components are "
            "significant"
        )
        claims.append(statement(text, 2 * alone > used, f"{alone} of {used} units", note))
    rule = (
        "more than nine tenths read one pizza alone, and write most to the pizza they read "
        "most; not every unit does"
    )
    shares = opened.exclusive_share, opened.same_pizza_share
    ours = (
        f"{shares[0]:.1%} of the units that read a pizza read one alone; {shares[1]:.1%} "
        "write to the one they read"
    )
    holds = exceeds(min(shares), NEARLY_ALL)
    return [
        *claims,
        judged("every intermediate dimension serves exactly one pizza", holds, ours, rule),
    ]


def _at_other_lines(weights: Tensor) -> str:
    """How many units have one significant pair, were "significant" more."""
    told = []
    for line in (0.25, 0.4):
        pairs = exceeds(_pair_strengths(weights), line).sum(dim=1)
        told.append(f"at {line:g} {int((pairs == 1).sum())} of {int((pairs > 0).sum())}")
    return ", ".join(told)


def _read_with_company(significant: Tensor, circles: dict[tuple[int, ...], int], p: int) -> int:
    """Units whose significant pairs are two circles of which one has twice the other's
    frequency.
    """
    count = 0
    for row in significant:
        pairs = row.nonzero().flatten().tolist()
        found = [circles.get((2 * pair + 1, 2 * pair + 2)) for pair in pairs]
        if len(found) == 2 and found[0] is not None and found[1] is not None:
            first, second = found[0], found[1]
            count += first in accompanied_frequencies(
                p, second
            ) or second in accompanied_frequencies(p, first)
    return count


def _draw_domino(opened: Anatomy) -> "Figure":
    """Hidden units by the pizza they read most, round its circle; those that read none come
    last.
    """
    reading = opened.aligned_w1
    planes = [
        reading[:, [number - 1 for number in pizza.embedding_components[:2]]]
        for pizza in opened.pizzas
    ]
    strength = torch.stack([plane.abs().amax(dim=1) for plane in planes])  # (pizzas, units)
    most, pizza = strength.max(dim=0)
    group = pizza.where(most > SIGNIFICANT, torch.tensor(len(planes)))
    angle = torch.stack([torch.atan2(plane[:, 1], plane[:, 0]) for plane in planes]).gather(
        0, pizza[None]
    )[0]
    order = sorted(range(len(reading)), key=lambda unit: (int(group[unit]), float(angle[unit])))
    figure = new_figure(7.0, 5.0)
    panels = figure.subplots(2, 1)
    for axes, matrix, side, name in (
        (panels[0], reading[:, :SHOWN_COMPONENTS].T, "embedding", "aligned $W_1$"),
        (panels[1], opened.aligned_w2[:SHOWN_COMPONENTS], "unembedding", "aligned $W_2$"),
    ):
        draw_aligned(figure, axes, matrix[:, order], side, name)
        start = 0
        for index in range(len(planes) + 1):
            size = int((group == index).sum())
            if size == 0:
                continue
            name = f"k = {opened.pizzas[index].frequency}" if index < len(planes) else "none"
            axes.text(
                start + size / 2 - 0.5,
                len(matrix) - 0.2,
                name,
                ha="center",
                va="bottom",
                fontsize=8,
            )
            start += size
            if start < len(order):
                axes.axvline(start - 0.5, color="0.3", linewidth=0.6)
        axes.set_title(axes.get_title(), pad=16)
    panels[0].set_xlabel("output dimension (hidden unit), by the circle it reads")
    panels[1].set_xlabel("source dimension (hidden unit), in the same order")
    return figure
