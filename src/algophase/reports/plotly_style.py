"""One look for every interactive picture, and the one door to plotly, which is an optional extra.

Text from a file (ids, titles, column names) passes through `plain` before it enters a picture:
plotly reads some HTML tags. Pictures leave text and grid colors to whoever shows them, so that a
page can be light or dark.
"""

import html
import re
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from algophase.core import palette
from algophase.core.errors import InputError
from algophase.core.palette import COLORS
from algophase.core.palette import GRAY as GRAY

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
HEATMAP = "Viridis"
LONGEST = 200  # characters of a text from a file
# plotly's names of the house's markers
_SYMBOLS = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "x": "x",
    "^": "triangle-up",
    "v": "triangle-down",
    "P": "cross",
    "X": "star",
}
VERDICTS: dict[str, tuple[str, str]] = {
    **{verdict: (color, _SYMBOLS[marker]) for verdict, (color, marker) in palette.VERDICTS.items()},
    "not analyzed": ("#882255", "hourglass"),
}
FORMS = {form: (color, _SYMBOLS[marker]) for form, (color, marker) in palette.FORMS.items()}
OTHER = (COLORS[4], "pentagon")


@dataclass(frozen=True)
class Panel:
    """A picture with what is written under it, and said by a screen reader in its place."""

    figure: "Figure"
    caption: str
    alt: str


def graph_objects() -> ModuleType:
    try:
        import plotly.graph_objects
    except ImportError:
        raise InputError(
            'interactive pictures need plotly; install it with: pip install "algophase[explore]"'
        ) from None
    return plotly.graph_objects


def inert_text(value: object) -> str:
    """A text from a file, inert wherever plotly or a page shows it: no tags, no templates, no
    control characters.
    """
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", str(value))
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return html.escape(text, quote=True).replace("%{", "%&#123;").replace("$", "&#36;")


def look(verdict: str) -> tuple[str, str]:
    """Color and marker of a verdict."""
    return VERDICTS.get(verdict, OTHER)


def color_bar(title: str) -> dict[str, Any]:
    return {
        "thickness": 10,
        "outlinewidth": 0,
        "title": {"text": f"{title}<br> ", "font": {"size": 12}},
    }


def new_figure(*, x: str, y: str, height: int = 320, **layout: Any) -> "Figure":
    """An empty picture with its axes named, without a template."""
    go = graph_objects()
    figure = go.Figure(layout={"template": "none"})
    figure.update_layout(
        height=height,
        margin={"l": 60, "r": 16, "t": 12, "b": 44},
        font={"family": FONT, "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"font": {"family": FONT, "size": 13}},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        xaxis={"title": {"text": x, "standoff": 6}, "zeroline": False},
        yaxis={"title": {"text": y, "standoff": 6}, "zeroline": False},
    )
    figure.update_layout(**layout)
    return figure
