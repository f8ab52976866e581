"""A verdict as a card for notebooks: the sentence, its reasons, the instances, and a picture of
what each of them computes.

HTML with an SVG drawn here, for an analysis needs no plotting library to be looked at.
"""

import html
from typing import TYPE_CHECKING

from algophase.analysis.profiles import Profile, kind_of, profiles
from algophase.analysis.summary import INSTANCE_HEAD, headline, instance_rows, paper_title
from algophase.analysis.verdict.decide import form_name

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis

COLOURS = {"Clock": "#0072B2", "Pizza": "#E69F00", "hybrid": "#009E73", "short cycle": "#882255"}
MOST = 6  # instances drawn
WIDTH, HEIGHT, EDGE = 150, 70, 6
BESIDE = f"display: inline-block; vertical-align: top; width: {WIDTH}px; margin: 0 14px 6px 0"


def card(analysis: "Analysis") -> str:
    """HTML of one network's verdict."""
    verdict, paper = analysis.verdict, analysis.paper
    reasons = verdict.general if verdict.known else paper.reasons
    parts = [
        f"<strong>{_text(analysis.id)}: {_text(headline(analysis))}</strong>",
        _listed(reasons),
    ]
    if verdict.known and analysis.instances.instances:
        parts += [
            _profiles(analysis),
            _table(INSTANCE_HEAD, instance_rows(analysis)),
        ]
    if verdict.known:
        parts.append(f"<p>{_text(verdict.confidence)}</p>")
    parts.append(f"<p>By the paper's rules: {_text(paper_title(paper))}.</p>")
    parts += [f"<p><small>Note: {_text(caution)}.</small></p>" for caution in analysis.cautions]
    style = f"border-left: 4px solid {_colour(verdict.label)}; padding: 0.2em 1em; max-width: 60em"
    return f'<div style="{style}">{"".join(parts)}</div>'


def _text(value: object) -> str:
    return html.escape(str(value))


def _listed(lines: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(f'<th>{_text(cell)}</th>' for cell in head)}</tr></thead><tbody>{body}</tbody></table>"


def _colour(form: str) -> str:
    return COLOURS.get(kind_of(form), "#8A8F98")


def _profiles(analysis: "Analysis") -> str:
    """g(a - b) of each instance along its circle, side by side: flat for a Clock, an arch for a
    Pizza.

    Each picture has its label below, as text of the page: however long it is, it wraps and touches
    no other.
    """
    pictures = []
    for profile in profiles(analysis)[:MOST]:
        label = _text(f"{profile.name}: {form_name(profile.form)}")
        caption = f'<figcaption style="font-size: 0.8em">{label}</figcaption>'
        pictures.append(f'<figure style="{BESIDE}">{_picture(profile)}{caption}</figure>')
    title = (
        "Strength of each instance, g(a − b), along its circle: flat for a Clock, an arch "
        "for a Pizza."
    )
    return f"<div>{''.join(pictures)}</div><p><small>{title} Dotted: zero.</small></p>"


def _picture(profile: Profile) -> str:
    """A profile by the angle k d, from -180 to 180 degrees, over the line of zero."""
    values = profile.values
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 1e-12)

    def height_of(value: float) -> float:
        return HEIGHT - EDGE - (value - low) / (high - low) * (HEIGHT - 2 * EDGE)

    left = EDGE + (profile.angles / 360 + 0.5) * (WIDTH - 2 * EDGE)
    color, zero = _colour(profile.form), height_of(0.0)
    dots = []
    for x, value in zip(left.tolist(), values.tolist(), strict=True):
        dots.append(f'<circle cx="{x:.1f}" cy="{height_of(value):.1f}" r="1.6" fill="{color}"/>')
    axis = (
        f'<path d="M{EDGE} {zero:.1f}H{WIDTH - EDGE}" stroke="currentColor" '
        'stroke-dasharray="1 3"/>'
    )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    title = f"<title>{_text(profile.name)}: {_text(form_name(profile.form))}</title>"
    return f'<svg role="img" {size}>{title}{axis}{"".join(dots)}</svg>'
