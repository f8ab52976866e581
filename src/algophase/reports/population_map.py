"""Populations as small pictures, in SVG and HTML: each run by its two metrics, a color and a
shape for each verdict.

A browser draws them at once, without a script or a plotting library.
"""

from collections.abc import Iterable, Mapping

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY, label, line
from algophase.core.palette import COLORS, GRAY, VERDICTS, in_order
from algophase.core.wording import counted
from algophase.reports.page import paragraph, text
from algophase.runs.populations import Population

# Of a picture, in its own units: about half a pixel
WIDE, HIGH = 480, 330
LEFT, BOTTOM, EDGE = 46, 44, 8
BLACK = COLORS[6]
ON_GROUPS = {"adding", "multiplying"}  # verdicts of networks on groups that are not cyclic
# A marker as a path from its middle, and whether it is filled or drawn with lines of this width.
_SHAPES = {
    "o": ("h0", 'stroke-width="9" stroke-linecap="round"'),
    "s": ("h0", 'stroke-width="8" stroke-linecap="square"'),
    "D": ("m0-6l6 6-6 6-6-6z", ""),
    "^": ("m0-6l6 10h-12z", ""),
    "v": ("m0 6l6-10h-12z", ""),
    ">": ("m6 0l-10 6v-12z", ""),
    "<": ("m-6 0l10 6v-12z", ""),
    "x": ("m-4-4l8 8m0-8l-8 8", 'stroke-width="2"'),
    "P": ("m-5 0h10m-5-5v10", 'stroke-width="4"'),
    "X": ("m-5-5l10 10m0-10l-10 10m-2-5h14", 'stroke-width="2"'),
}


def _ink(verdict: str) -> tuple[str, str]:
    """A verdict's color and marker; black is no color for a dark page."""
    color, marker = VERDICTS.get(verdict, (COLORS[4], "P"))
    return "currentColor" if color == BLACK else color, marker


def _marks(verdict: str, points: Iterable[tuple[int, int]], opacity: float = 1.0) -> str:
    ink, marker = _ink(verdict)
    shape, lines = _SHAPES[marker]
    look = f'fill="none" stroke="{ink}" {lines}' if lines else f'fill="{ink}"'
    path = "".join(f"M{x} {y}{shape}" for x, y in points)
    return f'<path d="{path}" {look} opacity="{opacity:g}"/>'


def _pixel(x: float, y: float) -> tuple[int, int]:
    """Where a picture has these metrics; what lies outside of 0 to 1 is drawn at the edge."""
    across = min(max(x, 0.0), 1.0)
    up = min(max(y, 0.0), 1.0)
    from_left = LEFT + EDGE + across * (WIDE - LEFT - 2 * EDGE)
    from_top = HIGH - BOTTOM - EDGE - up * (HIGH - BOTTOM - 2 * EDGE)
    return round(from_left), round(from_top)


def draw_population(population: Population) -> str:
    """Runs by gradient symmetricity, across, and distance irrelevance, up, with the paper's
    lines dotted.
    """
    floor = HIGH - BOTTOM
    middle = (WIDE + LEFT) // 2
    x, y = _pixel(line(SYMMETRICITY).value, line(IRRELEVANCE).value)
    grid = f'fill="none" stroke="{GRAY}" stroke-width="2"'
    parts = [
        f'<path d="M{LEFT} 0V{floor}H{WIDE}" {grid}/>',
        f'<path d="M{x} 0V{floor}M{LEFT} {y}H{WIDE}" {grid} stroke-dasharray="4 6"/>',
    ]
    # The largest group is drawn first, so that it hides no other.
    groups = list(population.points.items())
    groups.sort(key=lambda item: (item[0] != "non-circular", -len(item[1])))
    for verdict, points in groups:
        pixels = sorted({_pixel(*point) for point in points})  # what lies on one is drawn once
        opacity = 0.35 if verdict == "non-circular" else 0.75
        parts.append(_marks(verdict, pixels, opacity))
    parts.append(_label(middle, HIGH - 12, 0, label(SYMMETRICITY)))
    parts.append(_label(22, floor // 2, -90, label(IRRELEVANCE)))
    if not population.points:
        parts.append(_label(middle, floor // 2, 0, "no run has both metrics"))
    counts = ", ".join(f"{name} {count:,}" for name, count in population.counts.items())
    runs = counted(population.runs, "run")
    alt = f"{label(IRRELEVANCE)} against {label(SYMMETRICITY)} of {runs}: {counts or 'none'}"
    about = (
        f'viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{text(alt)}" '
        'fill="currentColor" font-size="22"'
    )
    return f'<svg class="plane" {about}>{"".join(parts)}</svg>'


def _label(x: int, y: int, turn: int, name: str) -> str:
    """turn: in degrees."""
    where = f'x="{x}" y="{y}" transform="rotate({turn} {x} {y})"'
    return f'<text {where} text-anchor="middle">{text(name)}</text>'


def draw_shares(counts: Mapping[str, int]) -> str:
    """One bar, cut by verdict."""
    total = sum(counts.values())
    start = 0
    parts = []
    for verdict, count in counts.items():
        across = f'x="{100 * start / total:.2f}" width="{100 * count / total:.2f}"'
        ink, _ = _ink(verdict)
        parts.append(f'<rect {across} height="4" fill="{ink}"/>')
        start += count
    about = 'viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"'
    return f'<svg class="bar" {about}>{"".join(parts)}</svg>'


def key(verdicts: Iterable[str]) -> str:
    """What the marks stand for."""
    items = "".join(f"<li>{_mark(verdict)}{text(verdict)}</li>" for verdict in in_order(verdicts))
    return f'<ul class="key" aria-label="Marks">{items}</ul>'


def _mark(verdict: str) -> str:
    shape = _marks(verdict, [(0, 0)])
    return f'<svg class="mark" viewBox="-8 -8 16 16" aria-hidden="true">{shape}</svg>'


def shares(population: Population) -> str:
    """Runs by verdict, each with its mark and its share."""
    items = []
    for verdict, count in population.counts.items():
        share = f"{count:,} ({count / population.runs:.1%})"
        items.append(f"<li>{_mark(verdict)}{text(verdict)} {share}</li>")
    return "".join(items)


def card(population: Population, address: str) -> str:
    """A population in one list item that leads to `address`."""
    link = f'href="{text(address)}"'
    parts = [f"<h3><a {link}>{text(population.name)}</a></h3>"]
    # Networks on groups have neither metric: an empty picture says nothing.
    measured = any(population.points.values()) or not population.counts.keys() & ON_GROUPS
    if population.runs and measured:  # a link as well, which the keyboard need not stop at twice
        picture = draw_population(population)
        parts.append(f'<a class="picture" {link} tabindex="-1">{picture}</a>')
    parts.append(paragraph(population.about))
    if population.runs:
        by = "" if population.verdict_name == "verdict" else "; by the paper's labels"
        accurate = f"{population.accurate:,} at full accuracy{by}"
        name = text(population.verdict_name)
        parts.append(paragraph(f"{_runs_text(population)}, {accurate}"))
        parts.append(draw_shares(population.counts))
        parts.append(f'<ul class="shares" aria-label="{name}">{shares(population)}</ul>')
    if population.origin:
        parts.append(paragraph(population.origin, "note"))
    parts += [paragraph(problem, "problem") for problem in population.problems]
    return f'<li class="population">{"".join(parts)}</li>'


def _runs_text(population: Population) -> str:
    """How many runs there are, of how many where some are still to come."""
    if population.planned is not None and population.planned > population.runs:
        return f"{population.runs:,} of {population.planned:,} runs"
    return counted(population.runs, "run")
