"""Sections 2 and 4.1 and appendix B: gradients and correct logits of Models A and B, and
embeddings that are no circles.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.analysis.circles.principal import frequency_shares
from algophase.analysis.logits.metrics import embedding_gradients, paper_triples
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.core.palette import COLORS
from algophase.paper.plates import logits_in_steps
from algophase.paper.populations import circles_of
from algophase.paper.product import Claim, Product
from algophase.paper.rules import (
    HALF,
    THRESHOLDS,
    decided,
    estimated,
    for_each,
    judged,
    measured,
    some_claim,
    statement,
)
from algophase.paper.sources import Exhibit, Sources, optional, source_of
from algophase.pictures.style import HEATMAP, new_figure
from algophase.report.figures import GRADIENT_COMPONENTS, circle_order, gradient_panel
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIPLES = 3
NO_CIRCLE = "non-circular embeddings do not form a circle when projected onto any plane"
ROUND = 0.9  # short axis over long axis from which an ellipse passes for a circle here (ours)
STRAIGHT = 0.95  # correlation from which a component is a straight line (ours)


def _a_and_b(sources: Sources) -> tuple[Exhibit, Exhibit]:
    return sources.network("model-a"), sources.network("model-b")


def gradients(sources: Sources) -> Product:
    a, b = both = _a_and_b(sources)
    figure = new_figure(2.4 * TRIPLES, 6.0)
    rows = figure.subplots(2, TRIPLES)
    for row, one in zip(rows, both, strict=True):
        triples = paper_triples(one.modulus)[:TRIPLES]
        directions = one.components.directions[:GRADIENT_COMPONENTS]
        first, second = (
            gradient @ directions.T for gradient in embedding_gradients(one.network, triples)
        )
        for axes, triple, x, y in zip(row, triples.tolist(), first, second, strict=True):
            gradient_panel(axes, x, y)
            axes.set_title("{}\n(a, b, c) = ({}, {}, {})".format(one.name, *triple))
    figure.legend(*rows[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    line, found = THRESHOLDS.gradient_symmetricity, (a.analysis, b.analysis)
    exact = [one.gradient_symmetricity_exact for one in found]
    held = [one.components.variance_share[:GRADIENT_COMPONENTS].sum().item() for one in both]
    claims = (
        measured(
            "model-a-symmetricity",
            a,
            found[0].gradient_symmetricity,
            f"{found[0].gradient_symmetricity:.2%}",
        ),
        measured(
            "model-b-symmetricity",
            b,
            found[1].gradient_symmetricity,
            f"{found[1].gradient_symmetricity:.2%}",
        ),
        judged(
            "Model B demonstrates asymmetry in general, Model A exhibits gradient symmetry",
            exceeds(exact[0], line) and stays_within(exact[1], line),
            f"A {exact[0]:.2%}, B {exact[1]:.2%} over all {a.modulus**3:,} triples",
            f"gradient symmetricity above {line:.0%} (the line of figure 7) for A alone",
        ),
        for_each(
            "the relevant angles are encoded in the first few principal components",
            held,
            HALF,
            f"the first {GRADIENT_COMPONENTS} hold {held[0]:.1%} (A) and {held[1]:.1%} (B) of "
            "the variance",
            "at least half of it, in both networks",
        ),
    )
    return Product(source_of(a, b), {"": figure}, claims=claims)


def _draw_correct_logits(both: tuple[Exhibit, Exhibit]) -> "Figure":
    figure = new_figure(7.2, 3.3)
    for axes, one in zip(figure.subplots(1, 2), both, strict=True):
        # No one circle is the whole network's: rows and columns step by the spacing of its largest.
        image = logits_in_steps(
            axes, one.whole.logits, one.evidence[0].circle.frequency if one.evidence else 1
        )
        figure.colorbar(image, ax=axes, label="correct logit")
        axes.set_title(
            f"{one.name} ({one.network.id})\ndistance irrelevance "
            f"{one.analysis.distance_irrelevance:.2f}"
        )
    return figure


def whole_logits(sources: Sources) -> Product:
    a, b = both = _a_and_b(sources)
    q = a.analysis.distance_irrelevance, b.analysis.distance_irrelevance
    line = THRESHOLDS.pizza_distance_irrelevance
    swapped = (
        'section 4 calls Model A "a typical Clock" and Model B "a typical Pizza"; sections 2 to '
        "4.1 and the captions of "
        "figures 4 and 5 say the reverse"
    )
    claims = (
        measured("model-a-irrelevance", a, q[0], f"{q[0]:.4f}"),
        measured("model-b-irrelevance", b, q[1], f"{q[1]:.4f}"),
        judged(
            "within each row the correct logits of Model A are roughly the same; this is not "
            "observed in Model B",
            falls_short(q[0], line) and reaches(q[1], line),
            f"A {q[0]:.4f}, B {q[1]:.4f}",
            f"distance irrelevance below {line:g} (section 4.1.2) for A alone",
        ),
        Claim(
            "which algorithm Models A and B have learned",
            "A Clock, B Pizza",
            f"A {a.analysis.paper_label}, B {b.analysis.paper_label}",
            "paper contradicts itself",
            note=swapped,
        ),
    )
    return Product(source_of(a, b), {"": _draw_correct_logits(both)}, claims=claims)


def straightness(coordinate: Tensor) -> float:
    """The largest correlation with a straight line over k t + s (mod p), the tokens t re-arranged
    by any k and s.

    A wave has 0.78 = sqrt(6) / pi.
    """
    p = len(coordinate)
    ramp = torch.arange(p, dtype=coordinate.dtype) - (p - 1) / 2
    centred = coordinate - coordinate.mean()
    best = 0.0
    for k in range(1, p // 2 + 1):
        ordered = centred[circle_order(p, k)]
        products = torch.fft.irfft(
            torch.fft.rfft(ordered) * torch.fft.rfft(ramp).conj(), n=p
        )  # one for every s
        best = max(best, products.abs().max().item())
    return best / (centred.norm() * ramp.norm()).item()


def _shapes(sources: Sources) -> list[Claim]:
    """How often the two shapes occur, and circles in spite of them, where there are runs to
    count.
    """
    found = optional(sources.runs, "fixed-width", "paper_label", "shape")
    if found is None:
        return []
    runs = found.where(found["paper_label"] == "non-circular")
    of = f"non-circular runs of {found.source}"
    counted = [
        some_claim(
            f"among non-circular embeddings, {text}",
            runs.share(runs["shape"] == shape),
            f"{of}, shape by `algophase analyze`",
        )
        for text, shape in (
            ("1D lines are found", "line-like"),
            ("3D Lissajous-like curves are found", "several frequencies"),
        )
    ]
    if "circles.roundness" not in runs:
        return counted
    circles = circles_of(runs, "variance_share", "roundness")
    held = [
        sum(share for share, roundness in each if reaches(roundness, ROUND)) for each in circles
    ]
    share = Share(sum(bool(reaches(part, HALF)) for part in held), len(runs))
    holds = decided(estimated(share), high=HALF)
    rule = (
        f"section 4.2; {of}; rule: in fewer than half of them do circles, each of one frequency "
        f"and at least {ROUND} round, "
        "hold half of the embedding's variance. The filter asks that each of the first four "
        "components be a wave: circles of "
        "nearly equal size share components, and fail it"
    )
    return [
        *counted,
        statement(
            f"{NO_CIRCLE}: runs that pass for non-circular",
            holds,
            str(share),
            rule,
            sample=share.total,
        ),
    ]


def _no_circle(*exhibits: Exhibit) -> Claim:
    """Of each network, the circle that its plane shows most purely."""
    shown, holds = [], True
    for one in exhibits:
        purest = max(one.evidence, key=lambda item: item.circle.purity, default=None)
        if purest is None:
            shown.append(f"{one.name}: no circle")
            continue
        circle = purest.circle
        shown.append(
            f"{one.name}: k = {circle.frequency}, purity {circle.purity:.4f}, roundness "
            f"{circle.roundness:.2f}"
        )
        holds &= falls_short(circle.purity, THRESHOLDS.circularity) or falls_short(
            circle.roundness, ROUND
        )
    rule = (
        "section 4.2; in the plane of a circle, the share of the variance that is its own "
        "(purity) is below "
        f"{THRESHOLDS.circularity:g}, or the circle is less than {ROUND} round; the purest of "
        "each network is shown"
    )
    return judged(NO_CIRCLE, holds, "; ".join(shown), rule)


def not_circular(sources: Sources) -> Product:
    line, curve = sources.network("line-like"), sources.network("three-dimensional")
    shares = frequency_shares(line.components)[0]
    frequency = int(shares.argmax()) + 1
    straight = straightness(line.components.coordinates[0, :, 0])
    limit, shapes = THRESHOLDS.circularity, [one.analysis.paper.shape for one in (line, curve)]
    claims = (
        judged(
            "both networks are non-circular",
            falls_short(max(line.circularity, curve.circularity), limit),
            f"{line.circularity:.4f} and {curve.circularity:.4f}",
            f"circularity below {limit:g}",
        ),
        statement(
            "a line-like first principal component",
            True if shapes[0] == "line-like" or reaches(straight, STRAIGHT) else None,
            f"correlation {straight:.3f} with a straight line in the best order of tokens (a "
            "wave: 0.780); "
            f"{shares[frequency - 1]:.1%} of it is a wave of frequency {frequency}; shape: "
            f"{shapes[0]}",
            f"rule: a straight line in some order of the tokens (at least {STRAIGHT}), or a "
            "wave of one frequency (at least "
            "90%) whose second axis is less than half as long; not tested where the nearest "
            "network at hand is no line",
        ),
        judged(
            "first three principal components forming a three-dimensional non-circular pattern",
            shapes[1] == "several frequencies",
            f"components 1-3 hold {curve.components.variance_share[:3].sum():.1%} of variance; "
            f"shape: {shapes[1]}",
            "the first four components mix frequencies instead of pairing up to circles",
        ),
        _no_circle(line, curve),
        *_shapes(sources),
    )
    return Product(
        source_of(line, curve), {"": _draw_not_circular(line, frequency, curve)}, claims=claims
    )


def _draw_not_circular(line: Exhibit, frequency: int, curve: Exhibit) -> "Figure":
    figure = new_figure(7.2, 5.6)
    upper, lower = figure.subfigures(2, 1, height_ratios=(1, 1.1), squeeze=False).flatten().tolist()
    axes = upper.subplots()
    order, places = circle_order(line.modulus, frequency), torch.arange(line.modulus)
    axes.plot(
        places,
        line.components.coordinates[0, order, 0],
        color=COLORS[0],
        linewidth=1,
        marker="o",
        markersize=3,
    )
    axes.set_xticks(
        places.tolist(), [str(token) for token in order.tolist()], fontsize=6.5, rotation=90
    )
    axes.set(
        xlim=(-1, line.modulus),
        xlabel="token, in the order of the component's frequency",
        ylabel="component 1",
    )
    upper.suptitle(f"{line.name} ({line.network.id}): first principal component", fontsize=9)
    strongest = int(frequency_shares(curve.components)[0].argmax()) + 1
    points = curve.components.coordinates[0, circle_order(curve.modulus, strongest), :3]
    places = torch.arange(curve.modulus)
    grid = lower.add_gridspec(1, 3, width_ratios=(1.4, 1, 1))
    space = lower.add_subplot(grid[0], projection="3d")
    space.plot(*points.T.numpy(), color="0.75", linewidth=0.6)
    space.scatter(*points.T.numpy(), c=places, cmap=HEATMAP, s=12, depthshade=False)
    for axis, name in zip((space.xaxis, space.yaxis, space.zaxis), "123", strict=True):
        axis.set_ticklabels([])
        axis.set_label_text(f"component {name}", fontsize=8)
        axis.labelpad = -8
    space.set_box_aspect(None, zoom=0.95)
    for place, (x, y) in enumerate(((0, 1), (0, 2))):
        flat = lower.add_subplot(grid[place + 1])
        flat.plot(points[:, x], points[:, y], color="0.75", linewidth=0.6)
        coloured = flat.scatter(points[:, x], points[:, y], c=places, cmap=HEATMAP, s=12, zorder=3)
        flat.set(xlabel=f"component {x + 1}", ylabel=f"component {y + 1}")
    label = "place of the token in the order of component 1's frequency"
    lower.colorbar(coloured, ax=lower.axes, label=label, location="bottom", shrink=0.5, aspect=40)
    lower.suptitle(
        f"{curve.name} ({curve.network.id}): first three principal components", fontsize=9
    )
    return figure
