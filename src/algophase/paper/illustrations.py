"""Pictures drawn from the formulas alone: the two algorithms on a clock face, and the
accompanying Pizza.
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.analysis.circles.formulas import (
    accompanying_by_distance,
    clock_logits,
    pizza_by_distance,
    pizza_logits,
)
from algophase.core.fourier import circle
from algophase.core.group import cyclic_group
from algophase.core.palette import COLORS
from algophase.pictures.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST = COLORS[0]
SECOND = COLORS[1]
ANSWER = COLORS[5]
SLICES = "twilight_shifted"  # cyclic, as labels are


def on_face(points: Tensor) -> Tensor:
    """Points as a clock shows them: angles run clockwise from the top. (cos, sin) is drawn at
    (sin, cos).
    """
    return points.flip(-1)


def _face(axes: "Axes", modulus: int, frequency: int = 1, labels: float = 1.17) -> Tensor:
    """A circle with its numbers, 0 shown as p as on a clock; returns the numbers' points (p, 2)."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.5", linewidth=0.8))
    points = on_face(circle(modulus, frequency))
    axes.scatter(points[:, 0], points[:, 1], s=8, color="0.3", zorder=3)
    for token, (x, y) in enumerate(points.tolist()):
        axes.text(
            labels * x, labels * y, str(token or modulus), ha="center", va="center", fontsize=7.5
        )
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal")
    axes.axis("off")
    return points


def _arrow(
    axes: "Axes", to: Tensor, color: str, label: str, shift: tuple[float, float] = (0.0, 0.0)
) -> None:
    x, y = to.tolist()
    style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, y), (0, 0), arrowprops=style)
    axes.text(
        0.55 * x + shift[0],
        0.55 * y + shift[1],
        label,
        color=color,
        ha="center",
        va="center",
        fontsize=9,
    )


def _arc(axes: "Axes", start: float, turn: float, radius: float, color: str) -> None:
    """An arrow clockwise from `start` through `turn`, both in whole turns from the top."""
    angle = 2 * math.pi * torch.linspace(start, start + turn, 200)
    x = radius * angle.sin()
    y = radius * angle.cos()
    axes.plot(x[:-6], y[:-6], color=color, linewidth=1.8)
    style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    tip = (x[-1].item(), y[-1].item())
    tail = (x[-8].item(), y[-8].item())
    axes.annotate("", tip, tail, arrowprops=style)


def _scores(axes: "Axes", logits: Tensor, formula: str) -> None:
    best = int(logits.argmax())
    colors = [ANSWER if label == best else "0.65" for label in range(len(logits))]
    axes.bar(range(len(logits)), logits.tolist(), color=colors)
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.set(ylim=(-1.1, 1.1), xlabel="c", ylabel="$Q_{abc}$")
    axes.set_xticks(range(0, len(logits), 2))
    axes.set_title(formula, fontsize=8)


def _draw_slices(axes: "Axes", modulus: int) -> None:
    """Each label's two mirrored slices: what is nearer to its line, at half its angle, than to
    any other label's.
    """
    import matplotlib
    from matplotlib.patches import Wedge

    colors = matplotlib.colormaps[SLICES]
    half = 360 / modulus / 4
    for label in range(modulus):
        for side in (0, 180):
            middle = 90 - (180 * label / modulus + side)
            face = colors((label + 0.5) / modulus)
            wedge = Wedge(
                (0, 0),
                1,
                middle - half,
                middle + half,
                facecolor=face,
                edgecolor="white",
                alpha=0.55,
                lw=0.4,
            )
            axes.add_patch(wedge)
            angle = math.radians(middle)
            x = 0.73 * math.cos(angle)
            y = 0.73 * math.sin(angle)
            axes.text(x, y, str(label or modulus), ha="center", va="center", fontsize=5.5)


def draw_algorithms(modulus: int, a: int, b: int) -> "Figure":
    """Three steps of each algorithm on one pair."""
    figure = new_figure(7.2, 5.2)
    answer = cyclic_group(modulus).sum(a, b)
    for part, name in zip(
        figure.subfigures(2, 1, squeeze=False).flat, ("Clock", "Pizza"), strict=True
    ):
        part.suptitle(f"{name}: {a} + {b} = {answer} (mod {modulus})", fontsize=10, weight="bold")
        embed, step, score = part.subplots(1, 3)
        points = _face(embed, modulus)
        _arrow(embed, points[a], FIRST, "$E_a$", (0.0, 0.17))
        _arrow(embed, points[b], SECOND, "$E_b$", (0.2, 0.0))
        embed.set_title("1. embed: $E_a=(\\cos w a,\\ \\sin w a)$")
        if name == "Clock":
            _face(step, modulus)
            _arc(step, 0, a / modulus, 0.62, FIRST)
            _arc(step, a / modulus, b / modulus, 0.8, SECOND)
            step.plot(
                *zip((0, 0), points[answer].tolist(), strict=True),
                color=ANSWER,
                linewidth=1.5,
            )
            step.scatter(*points[answer].tolist(), s=36, color=ANSWER, zorder=4)
            step.text(0, -0.05, "$w a + w b$", ha="center", va="top", fontsize=9)
            step.set_title("2. add the angles, by multiplying")
            _scores(score, clock_logits(modulus, 1)[a, b], "3. $Q_{abc}=\\cos w(a+b-c)$")
        else:
            _draw_slices(step, modulus)
            _face(step, modulus)
            _draw_midpoints(step, points, a, b)
            step.set_title("2. average: which slice is $E_{ab}$ in?")
            formula = "3. $Q_{abc}=|\\cos\\frac{w(a-b)}{2}|\\,\\cos w(a+b-c)$"
            _scores(score, pizza_logits(modulus, 1)[a, b], formula)
    return figure


def _draw_midpoints(axes: "Axes", points: Tensor, a: int, b: int) -> None:
    """The pair's midpoint, and those of all pairs with the same sum, which lie on one line
    through the middle.
    """
    p = len(points)
    group = cyclic_group(p)
    label = group.sum(a, b)
    partners = group.sum(group.inverses, label)  # x and its partner add to the label
    same = (points + points[partners]) / 2
    axes.plot(*zip(points[a].tolist(), points[b].tolist(), strict=True), color="0.3", linewidth=0.8)
    axes.scatter(
        same[:, 0], same[:, 1], s=12, facecolor="white", edgecolor=ANSWER, linewidth=0.9, zorder=4
    )
    x, y = ((points[a] + points[b]) / 2).tolist()
    corners = ((points[a].tolist(), FIRST), (points[b].tolist(), SECOND), ((x, y), ANSWER))
    for (across, up), color in corners:
        axes.scatter(across, up, s=36, color=color, zorder=5 if color == ANSWER else 4)
    style = {"arrowstyle": "-", "color": ANSWER, "linewidth": 0.8}
    angle = math.atan2(y, x) - math.pi / p  # half a step on, between two numbers
    outside = (1.32 * math.cos(angle), 1.32 * math.sin(angle))
    axes.annotate(
        "$E_{ab}$",
        (x, y),
        outside,
        color=ANSWER,
        ha="center",
        va="center",
        fontsize=9,
        arrowprops=style,
        zorder=5,
    )


def draw_accompanying(modulus: int, a: int, b: int) -> "Figure":
    """A pair far apart on a Pizza's circle, near on that of twice the frequency, and the two
    factors over a - b.
    """
    figure = new_figure(7.2, 2.7)
    first, second, curves = figure.subplots(1, 3, width_ratios=(1, 1, 1.25))
    far_apart = f"Pizza, frequency $k$: {a} and {b} are\nnearly antipodal, midpoint near 0"
    adjacent = "accompanying, frequency $2k$:\nadjacent, midpoint far out"
    circles = ((first, 1, FIRST, far_apart), (second, 2, ANSWER, adjacent))
    for axes, frequency, color, title in circles:
        points = _face(axes, modulus, frequency)
        chord = zip(points[a].tolist(), points[b].tolist(), strict=True)
        axes.plot(*chord, color=color, linewidth=1.2)
        axes.scatter(points[[a, b], 0], points[[a, b], 1], s=30, color=color, zorder=4)
        middle = (points[a] + points[b]) / 2
        radius = zip((0, 0), middle.tolist(), strict=True)
        axes.plot(*radius, color=color, linestyle=":", linewidth=1.5)
        axes.scatter(
            *middle.tolist(),
            s=42,
            marker="X",
            color=color,
            edgecolor="white",
            linewidth=0.6,
            zorder=5,
        )
        axes.text(0, -1.5, title, ha="center", va="top")
        axes.set_ylim(-2.2, 1.35)
    fine = torch.arange(20 * modulus + 1)  # twentieths of a step
    whole = torch.arange(modulus + 1)
    for by_distance, color, style, label in (
        (pizza_by_distance, FIRST, "-", "Pizza: $|\\cos w(a-b)/2|$"),
        (accompanying_by_distance, ANSWER, "--", "accompanying: $-\\cos w(a-b)$"),
    ):
        curves.plot(
            fine / 20,
            by_distance(fine, 20 * modulus, 1),
            color=color,
            linestyle=style,
            label=label,
        )
        curves.scatter(whole, by_distance(whole, modulus, 1), s=10, color=color)
    curves.plot(
        [cyclic_group(modulus).difference(a, b)] * 2,
        [-1.1, 1.05],
        color="0.6",
        linewidth=0.8,
        zorder=0,
    )
    curves.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    curves.set(
        xlabel=f"a − b mod {modulus}", ylabel="factor of cos w(a + b − c)", ylim=(-1.1, 2.05)
    )
    curves.set_yticks([-1, 0, 1])
    curves.set_xticks(range(0, modulus + 1, 3))
    curves.legend(loc="upper center", frameon=False)
    return figure


def draw_approximation() -> "Figure":
    figure = new_figure(4.2, 3.6)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    angles = torch.linspace(0, 2 * math.pi, 1441, dtype=torch.float64)
    difference = angles.cos().abs() - angles.sin().abs()
    top.plot(angles, difference, color=FIRST, label="|cos t| − |sin t|")
    top.plot(angles, (2 * angles).cos(), color=ANSWER, linestyle="--", label="cos 2t")
    bottom.plot(angles, difference - (2 * angles).cos(), color="0.2")
    bottom.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    bottom.set(xlabel="t", ylabel="difference")
    bottom.set_xticks(
        [0, math.pi / 2, math.pi, 1.5 * math.pi, 2 * math.pi], ["0", "π/2", "π", "3π/2", "2π"]
    )
    figure.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
