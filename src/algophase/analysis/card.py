"""A verdict as a card for notebooks: the sentence, its reasons, the instances, and a picture of what each of them computes.

HTML with an SVG drawn here, for an analysis needs no plotting library to be looked at.
"""

import html
from typing import TYPE_CHECKING

from algophase.analysis.profiles import Profile, kind_of, profiles
from algophase.analysis.summary import INSTANCE_HEAD, headline, instance_rows, paper_title
from algophase.analysis.verdict import form_name

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis

COLOURS = {"Clock": "#0072B2", "Pizza": "#E69F00", "hybrid": "#009E73", "short cycle": "#882255"}
MOST = 6  # instances drawn
WIDTH, HEIGHT, EDGE = 120, 70, 8


def card(analysis: "Analysis") -> str:
    """HTML of one network's verdict."""
    verdict, paper = analysis.verdict, analysis.paper
    reasons = verdict.general if verdict.known else paper.reasons
    parts = [f"<strong>{_text(analysis.id)}: {_text(headline(analysis))}</strong>", _listed(reasons)]
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
    """g(a - b) of each instance along its circle, side by side: flat for a Clock, an arch for a Pizza."""
    drawn, panels = profiles(analysis)[:MOST], []
    for place, each in enumerate(drawn):
        label = _text(f"{each.name}: {form_name(each.form)}")
        text = f'<text x="{EDGE}" y="{EDGE + 2}" font-size="9" fill="currentColor">{label}</text>'
        panels.append(f'<g transform="translate({place * (WIDTH + EDGE)} 0)">{_points(each)}{text}</g>')
    wide = len(drawn) * (WIDTH + EDGE)
    title = "Strength of each instance along a − b: flat for a Clock, an arch for a Pizza"
    size = f'width="{wide}" height="{HEIGHT}" viewBox="0 0 {wide} {HEIGHT}"'
    return f'<svg role="img" {size}><title>{title}</title>{"".join(panels)}</svg>'


def _points(profile: Profile) -> str:
    """A profile by the angle k d, from -180 to 180 degrees."""
    values, low = profile.values, min(float(profile.values.min()), 0.0)
    up = (values - low) / (max(float(values.max()), 1e-12) - low)
    x, y = EDGE + (profile.angles / 360 + 0.5) * (WIDTH - 2 * EDGE), HEIGHT - EDGE - up * (HEIGHT - 3 * EDGE)
    dots, colour = zip(x.tolist(), y.tolist(), strict=True), _colour(profile.form)
    return "".join(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="1.6" fill="{colour}"/>' for left, top in dots)
