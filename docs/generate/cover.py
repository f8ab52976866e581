"""Draw the picture of the README: a Clock, a Pizza, and the phase diagram of the networks that
learn them.

    python docs/generate/cover.py    # docs/images/cover.png

Everything in the picture is measured on networks in `gallery/`.

Left and middle: one circle of a trained network's embedding, each of the p * p sums placed where
its algorithm computes it and colored by its answer. The Clock multiplies two points as complex
numbers; the Pizza takes their midpoint (figure 1).
Right: the networks of `gallery/fixed-width` that learned, by verdict, one point per network.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from PIL import Image
from torch import Tensor

from algophase import find_circles, load, network_components, read_runs
from algophase.analysis.circles.find import points_in_plane
from algophase.core.palette import VERDICTS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).parents[2]
SWEEP = ROOT / "gallery" / "fixed-width"
PICTURE = ROOT / "docs" / "images" / "cover.png"
CLOCK, PIZZA = (
    ("da98a6312948", 11),
    ("5ed1f0b86c80", 7),
)  # a network, and the frequency of its strongest circle
ANSWERS = "twilight"  # a cyclic scale, read with every common kind of color blindness
ANSWER = "#D55E00"
RATE, SYMMETRICITY = "attention_rate", "gradient_symmetricity"
DRAWN = ("Pizza", "hybrid", "Clock")
LARGE, SMALL = 18, 12


def circle_of(name: str, frequency: int) -> Tensor:
    """The tokens of a kept network in the plane of one circle, as complex numbers of mean size
    1; (p,).
    """
    components = network_components(load(SWEEP / "networks" / f"{name}.safetensors"))
    circle = next(circle for circle in find_circles(components) if circle.frequency == frequency)
    points = torch.view_as_complex(points_in_plane(components, circle)[0].contiguous())
    points = points / points.abs().mean()
    return (
        points * points[0].conj() / points[0].abs()
    )  # turned so that token 0 lies on the first axis


def at_angle(tokens: Tensor, degrees: float) -> int:
    """The token nearest to this direction."""
    return int((tokens.angle() - math.radians(degrees)).abs().argmin())


def draw_sums(
    axes: "Axes", tokens: Tensor, sums: Tensor, frequency: int, shown: tuple[int, int]
) -> None:
    """All sums at their places (p, p), colored by their answer in the order of the circle, and
    one pair of tokens.
    """
    p = len(tokens)
    answers = frequency * (torch.arange(p)[:, None] + torch.arange(p)) % p
    axes.scatter(sums.real, sums.imag, c=answers, cmap=ANSWERS, s=15, linewidths=0, vmin=0, vmax=p)
    for token, label in zip(shown, "ab", strict=True):
        place = tokens[token]
        axes.scatter(
            place.real, place.imag, s=70, color="white", edgecolors="black", linewidths=2, zorder=5
        )
        write(axes, label, 1.27 * complex(place), "black")
    axes.set(aspect="equal", xlim=(-1.36, 1.36), ylim=(-1.3, 1.42))
    axes.axis("off")


def draw_line(axes: "Axes", start: complex, end: complex, color: str) -> None:
    for width, shade in (
        (5.0, "white"),
        (2.4, color),
    ):  # a white edge, seen on every color below it
        axes.plot(
            [start.real, end.real], [start.imag, end.imag], color=shade, linewidth=width, zorder=3
        )


def draw_answer(axes: "Axes", place: complex, label: complex) -> None:
    axes.scatter(
        place.real, place.imag, s=130, color=ANSWER, edgecolors="white", linewidths=1.6, zorder=6
    )
    write(axes, "a + b", label, ANSWER)


def write(axes: "Axes", text: str, place: complex, color: str) -> None:
    from matplotlib.patheffects import withStroke

    edge = [withStroke(linewidth=4, foreground="white")]
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "style": "italic",
        "weight": "bold",
        "zorder": 7,
    }
    axes.annotate(
        text, (place.real, place.imag), fontsize=LARGE, color=color, path_effects=edge, **style
    )


def draw_clock(axes: "Axes") -> None:
    """Multiplied as complex numbers, two points add their angles."""
    tokens = circle_of(*CLOCK)
    sums = tokens[:, None] * tokens
    a, b = at_angle(tokens, 25), at_angle(tokens, 95)
    draw_sums(axes, tokens, sums, CLOCK[1], (a, b))
    for end, color in ((tokens[a], "black"), (tokens[b], "black"), (sums[a, b], ANSWER)):
        draw_line(axes, 0j, complex(end), color)
    draw_answer(axes, complex(sums[a, b]), 1.33 * complex(sums[a, b]) - 0.1)


def draw_pizza(axes: "Axes") -> None:
    """Midpoints of pairs with the same sum lie on one line through the center: a slice for each
    answer.
    """
    tokens = circle_of(*PIZZA)
    sums = (tokens[:, None] + tokens) / 2
    a, b = at_angle(tokens, 25), at_angle(tokens, 130)
    draw_sums(axes, tokens, sums, PIZZA[1], (a, b))
    draw_line(axes, complex(tokens[a]), complex(tokens[b]), "black")
    draw_answer(axes, complex(sums[a, b]), complex(sums[a, b]) - 0.24j)


def draw_phases(axes: "Axes") -> None:
    """Gradient symmetricity by attention rate, one point per network, colored by verdict."""
    runs = read_runs(SWEEP)
    for verdict in DRAWN:
        some = runs[runs["verdict"] == verdict]
        color, marker = VERDICTS[verdict]
        axes.scatter(
            some[RATE],
            some[SYMMETRICITY],
            s=7,
            color=color,
            marker=marker,
            alpha=0.6,
            linewidths=0,
        )
    for verdict, place in {
        "Pizza": (0.22, 0.92),
        "hybrid": (0.31, 0.7),
        "Clock": (0.55, 0.4),
    }.items():
        color = VERDICTS[verdict][0]
        axes.annotate(
            verdict, place, fontsize=LARGE, ha="center", va="center", color=color, weight="bold"
        )
    axes.set(xlim=(-0.03, 1.03), ylim=(0.2, 1.03), xticks=(0, 0.5, 1), yticks=(0.4, 0.6, 0.8, 1))
    axes.set_xlabel("attention rate", fontsize=SMALL + 6)
    axes.set_ylabel("gradient symmetricity", fontsize=SMALL + 6)
    axes.tick_params(labelsize=SMALL + 4)


def main() -> None:
    drawn = read_runs(SWEEP).verdict.isin(DRAWN).sum()
    with house_style():
        figure = new_figure(10.4, 4.5)
        figure.set_layout_engine("none")
        panels = (
            (0.0, 0.315, draw_clock, "Clock", "adds the angles"),
            (0.318, 0.315, draw_pizza, "Pizza", "takes the midpoint"),
            (0.728, 0.256, draw_phases, "Phase diagram", f"{drawn:,} networks"),
        )
        for left, width, draw, title, line in panels:
            axes = figure.add_axes(
                (left, 0.165, width, 0.635) if draw is draw_phases else (left, 0.0, width, 0.82)
            )
            draw(axes)
            middle = left + width / 2
            figure.text(
                middle, 0.985, title, fontsize=LARGE + 6, weight="bold", ha="center", va="top"
            )
            figure.text(
                middle, 0.885, line, fontsize=SMALL + 7, color="0.25", ha="center", va="top"
            )
        save_figure(figure, PICTURE)
    with Image.open(PICTURE) as picture:  # 256 colors are enough, and a third of the size
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
