"""A verdict as a card for notebooks: the sentence, its reasons, the instances, and a picture of
what each of them computes.

HTML with an SVG drawn here: an analysis needs no plotting library to be looked at.
"""

from collections.abc import Sequence

from algophase.core.palette import FORMS, GRAY, kind_of
from algophase.pages.network_text import (
    GROUP_HEAD,
    INSTANCE_HEAD,
    NetworkText,
    Record,
    group_lines,
    group_rows,
    instance_rows,
)
from algophase.pages.table import Table
from algophase.pages.text import escaped
from algophase.pictures.program import Profile

COLORED = ("Clock", "Pizza", "hybrid", "short cycle")  # verdicts and forms; the others are gray
MOST = 6  # instances drawn
WIDTH, HEIGHT, EDGE = 150, 70, 6  # of one picture, in pixels
BESIDE = f"display: inline-block; vertical-align: top; width: {WIDTH}px; margin: 0 14px 6px 0"
BAR_WIDTH, BAR_HEIGHT = 480, 18
ABOUT_PROFILES = (
    "Strength of each instance, g(a − b), along its circle: flat for a Clock, an arch for a Pizza. "
    "Dotted: zero."
)


def card(network: NetworkText) -> str:
    """HTML of one network's verdict."""
    record = network.record
    reasons = network.reasons if network.has_verdict else record["paper_reasons"]
    parts = [
        f"<strong>{escaped(record['id'])}: {escaped(network.headline)}</strong>",
        _listed(reasons),
    ]
    group = record.get("on_group")
    if group is not None:
        parts += _group_parts(group)
    if network.instances:
        parts.append(_pictures(network.profiles[:MOST]))
        parts.append(Table(INSTANCE_HEAD, instance_rows(network.instances)).html())
    if network.has_verdict:
        parts.append(f"<p>{escaped(network.certainty)}</p>")
    if group is None:
        parts.append(f"<p>By the paper's rules: {escaped(network.paper_title)}.</p>")
    parts += [f"<p><small>Note: {escaped(note)}.</small></p>" for note in record["cautions"]]
    color = _color(record.get("verdict", ""))
    style = f"border-left: 4px solid {color}; padding: 0.2em 1em; max-width: 60em"
    return f'<div style="{style}">{"".join(parts)}</div>'


def _group_parts(group: Record) -> list[str]:
    """Of a network on a group that is not cyclic: its instances as a bar and as a table, and what
    its logits are functions of.
    """
    parts = []
    if group["instances"]:
        parts.append(_bar(group["instances"]))
        parts.append(Table(GROUP_HEAD, group_rows(group["instances"])).html())
    return [*parts, *(f"<p>{escaped(line)}.</p>" for line in _sentences(group_lines(group)))]


def _sentences(lines: Sequence[str]) -> list[str]:
    return [f"{line[:1].upper()}{line[1:]}" for line in lines]


def _bar(instances: Sequence[Record]) -> str:
    """The instances' shares of the logits side by side, each in its form's color."""
    whole = max(1.0, sum(max(0.0, instance["share"]) for instance in instances))
    left = 0.0
    pieces = []
    for instance in instances:
        width = BAR_WIDTH * max(0.0, instance["share"]) / whole
        name = ", ".join(instance["representations"])
        title = f"<title>{escaped(name)}: {escaped(instance['form'])}</title>"
        drawn_width = max(width - 1, 0.5)  # a gap between two instances
        position = f'x="{left:.1f}" y="0" width="{drawn_width:.1f}" height="{BAR_HEIGHT}"'
        pieces.append(f'<rect {position} fill="{_color(instance["form"])}">{title}</rect>')
        left += width
    size = f'width="{BAR_WIDTH}" height="{BAR_HEIGHT}" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}"'
    label = 'aria-label="Shares of the logits by instance"'
    return f'<svg role="img" {size} {label}>{"".join(pieces)}</svg>'


def _color(form: str) -> str:
    kind = kind_of(form)
    if kind not in COLORED:
        return GRAY
    color, _ = FORMS[kind]
    return color


def _listed(lines: Sequence[str]) -> str:
    items = [f"<li>{escaped(line)}</li>" for line in lines]
    return f"<ul>{''.join(items)}</ul>"


def _pictures(profiles: Sequence[Profile]) -> str:
    """g(a - b) of each instance along its circle, side by side: flat for a Clock, an arch for a
    Pizza.

    Each picture has its label below, as text of the page: however long it is, it wraps and touches
    no other.
    """
    figures = []
    for profile in profiles:
        label = escaped(f"{profile.name}: {profile.form}")
        caption = f'<figcaption style="font-size: 0.8em">{label}</figcaption>'
        figures.append(f'<figure style="{BESIDE}">{_picture(profile)}{caption}</figure>')
    return f"<div>{''.join(figures)}</div><p><small>{ABOUT_PROFILES}</small></p>"


def _picture(profile: Profile) -> str:
    """A profile by the angle k d, from -180 to 180 degrees, over the line of zero."""
    low = min(float(profile.values.min()), 0.0)
    high = max(float(profile.values.max()), 1e-12)

    def height_of(value: float) -> float:
        return HEIGHT - EDGE - (value - low) / (high - low) * (HEIGHT - 2 * EDGE)

    left = EDGE + (profile.angles / 360 + 0.5) * (WIDTH - 2 * EDGE)
    color = _color(profile.kind)
    dots = []
    for x, value in zip(left.tolist(), profile.values.tolist(), strict=True):
        dots.append(f'<circle cx="{x:.1f}" cy="{height_of(value):.1f}" r="1.6" fill="{color}"/>')
    axis = (
        f'<path d="M{EDGE} {height_of(0.0):.1f}H{WIDTH - EDGE}" stroke="currentColor" '
        'stroke-dasharray="1 3"/>'
    )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    title = f"<title>{escaped(profile.name)}: {escaped(profile.form)}</title>"
    return f'<svg role="img" {size}>{title}{axis}{"".join(dots)}</svg>'
