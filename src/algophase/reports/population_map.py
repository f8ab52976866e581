"""Populations as small pictures, in plain SVG and HTML: each run by its two metrics, a colour and a
shape for each verdict.

A browser draws them at once, without a script or a plotting library.
"""

from collections.abc import Iterable, Mapping

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY, label, line
from algophase.analysis.verdict.decide import in_order
from algophase.core.palette import COLORS, GREY, VERDICTS
from algophase.core.wording import counted
from algophase.reports.page import paragraph, text
from algophase.runs.populations import Population

WIDE, HIGH, LEFT, BOTTOM, EDGE = (
    480,
    330,
    46,
    44,
    8,
)  # of a picture, in its own units: about half a pixel
BLACK = COLORS[6]
# A marker as a path from its middle, and whether it is filled or drawn with lines of this width.
_SHAPES = {
    "o": ("h0", 'stroke-width="9" stroke-linecap="round"'),
    "s": ("h0", 'stroke-width="8" stroke-linecap="square"'),
    "D": ("m0-6l6 6-6 6-6-6z", ""),
    "^": ("m0-6l6 10h-12z", ""),
    "v": ("m0 6l6-10h-12z", ""),
    "x": ("m-4-4l8 8m0-8l-8 8", 'stroke-width="2"'),
    "P": ("m-5 0h10m-5-5v10", 'stroke-width="4"'),
    "X": ("m-5-5l10 10m0-10l-10 10m-2-5h14", 'stroke-width="2"'),
}


def _ink(verdict: str) -> tuple[str, str]:
    """A verdict's colour and marker; black is no colour for a dark page."""
    colour, marker = VERDICTS.get(verdict, (COLORS[4], "P"))
    return "currentColor" if colour == BLACK else colour, marker


def _marks(verdict: str, places: Iterable[tuple[int, int]], opacity: float = 1.0) -> str:
    ink, marker = _ink(verdict)
    shape, lines = _SHAPES[marker]
    look = f'fill="none" stroke="{ink}" {lines}' if lines else f'fill="{ink}"'
    path = "".join(f"M{x} {y}{shape}" for x, y in places)
    return f'<path d="{path}" {look} opacity="{opacity:g}"/>'


def _place(x: float, y: float) -> tuple[int, int]:
    """Where a picture has these metrics; what lies outside of 0 to 1 is drawn at the edge."""
    across, up = min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)
    return round(LEFT + EDGE + across * (WIDE - LEFT - 2 * EDGE)), round(
        HIGH - BOTTOM - EDGE - up * (HIGH - BOTTOM - 2 * EDGE)
    )


def draw_population(population: Population) -> str:
    """Runs by gradient symmetricity, across, and distance irrelevance, up, with the paper's
    lines dotted.
    """
    floor, middle = HIGH - BOTTOM, (WIDE + LEFT) // 2
    x, y = _place(line(SYMMETRICITY).value, line(IRRELEVANCE).value)
    grid = f'fill="none" stroke="{GREY}" stroke-width="2"'
    inside = [
        f'<path d="M{LEFT} 0V{floor}H{WIDE}" {grid}/>',
        f'<path d="M{x} 0V{floor}M{LEFT} {y}H{WIDE}" {grid} stroke-dasharray="4 6"/>',
    ]
    # The largest group is drawn first, so that it hides no other; points on one pixel are drawn
    # once.
    for verdict, points in sorted(
        population.points.items(), key=lambda item: (item[0] != "non-circular", -len(item[1]))
    ):
        places = sorted({_place(*point) for point in points})
        inside.append(_marks(verdict, places, 0.35 if verdict == "non-circular" else 0.75))
    names = [(middle, HIGH - 12, 0, label(SYMMETRICITY)), (22, floor // 2, -90, label(IRRELEVANCE))]
    if not population.points:
        names.append((middle, floor // 2, 0, "no run has both metrics"))
    inside += [
        f'<text x="{x}" y="{y}" transform="rotate({turn} {x} {y})" '
        f'text-anchor="middle">{text(name)}</text>'
        for x, y, turn, name in names
    ]
    told = ", ".join(f"{name} {count:,}" for name, count in population.counts.items())
    alt = (
        f"{label(IRRELEVANCE)} against {label(SYMMETRICITY)} of "
        f"{counted(population.runs, 'run')}: {told or 'none'}"
    )
    about = (
        f'viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{text(alt)}" '
        'fill="currentColor" font-size="22"'
    )
    return f'<svg class="plane" {about}>{"".join(inside)}</svg>'


def draw_shares(counts: Mapping[str, int]) -> str:
    """One bar, cut by verdict."""
    total, begun, parts = sum(counts.values()), 0, []
    for verdict, count in counts.items():
        across = f'x="{100 * begun / total:.2f}" width="{100 * count / total:.2f}"'
        parts.append(f'<rect {across} height="4" fill="{_ink(verdict)[0]}"/>')
        begun += count
    return (
        '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


def key(verdicts: Iterable[str]) -> str:
    """What the marks stand for."""
    items = "".join(f"<li>{_mark(verdict)}{text(verdict)}</li>" for verdict in in_order(verdicts))
    return f'<ul class="key" aria-label="Marks">{items}</ul>'


def _mark(verdict: str) -> str:
    return (
        '<svg class="mark" viewBox="-8 -8 16 16" '
        f'aria-hidden="true">{_marks(verdict, [(0, 0)])}</svg>'
    )


def shares(population: Population) -> str:
    """Runs by verdict, each with its mark and its share."""
    counts = population.counts
    return "".join(
        f"<li>{_mark(verdict)}{text(verdict)} {count:,} ({count / population.runs:.1%})</li>"
        for verdict, count in counts.items()
    )


def card(population: Population, address: str) -> str:
    """A population in one list item that leads to `address`."""
    of = (
        f" of {population.planned:,}"
        if population.planned is not None and population.planned > population.runs
        else ""
    )
    runs = f"{population.runs:,}{of} {'runs' if of or population.runs != 1 else 'run'}"
    older = "" if population.verdict_name == "verdict" else "; by the paper's labels"
    lines = [paragraph(population.about)]
    if population.runs:
        lines += [
            paragraph(f"{runs}, {population.accurate:,} at full accuracy{older}"),
            draw_shares(population.counts),
            '<ul class="shares" '
            f'aria-label="{text(population.verdict_name)}">{shares(population)}</ul>',
        ]
    lines += [paragraph(population.origin, "note")] if population.origin else []
    lines += [paragraph(problem, "problem") for problem in population.problems]
    head = f'<h3><a href="{text(address)}">{text(population.name)}</a></h3>'
    picture = ""
    if population.runs:  # a link as well, which the keyboard need not stop at twice
        picture = (
            f'<a class="picture" href="{text(address)}" '
            f'tabindex="-1">{draw_population(population)}</a>'
        )
    return f'<li class="population">{head}{picture}{"".join(lines)}</li>'
