"""A page in one HTML file that needs no network: text, tables, and pictures that plotly, carried
along once, draws.

Nothing from a file reaches the page unescaped, and a content policy lets only this page's own two
scripts run. The same input gives the same bytes: ids are counted, and there is no time in it.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from algophase.core.errors import InputError
from algophase.pages.text import escaped
from algophase.pictures.marks import Panel
from algophase.pictures.to_plotly import draw, graph_objects
from algophase.storage.files import write_atomically

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

text = escaped  # a page is full of it
MOST_WITH_PARTS = 12  # sections whose parts the table of contents lists too


def figure_json(figure: "Figure") -> str:
    """A picture as JSON that can stand inside a script element: no `<` is left in it."""
    from plotly.io.json import to_json_plotly

    record = figure.to_plotly_json()
    record["layout"].pop("template", None)  # the page brings its own
    encoded: str = to_json_plotly({"data": record["data"], "layout": record["layout"]})
    return encoded.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def listed(lines: Iterable[object]) -> str:
    return "<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>"


def paragraph(line: object, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<p{attribute}>{text(line)}</p>"


@dataclass
class Section:
    """A heading of level 2, and the titles and anchors of those of level 3 below it; titles are
    HTML.
    """

    title: str
    anchor: str
    parts: list[tuple[str, str]] = field(default_factory=list)


class Page:
    """Collects HTML and pictures, and writes them as one file."""

    def __init__(self, title: str, lead: str = "") -> None:
        graph_objects()  # says at once if plotly is missing
        self.title, self.lead = title, lead
        self.parts: list[str] = []
        self.sections: list[Section] = []
        self.figures = 0

    def add(self, *parts: str) -> None:
        """HTML: what comes from a file has passed through `text`, a `Table`, `listed`,
        `paragraph` or `heading`.
        """
        self.parts += parts

    def heading(self, level: int, title: object, anchor: str = "") -> None:
        """A heading that the table of contents leads to: level 2 begins a section, level 3 a
        part of the last one.
        """
        if level == 2:
            section = Section(text(title), anchor or f"section-{len(self.sections) + 1}")
            self.sections.append(section)
            anchor = section.anchor
        elif self.sections:
            section = self.sections[-1]
            anchor = anchor or f"{section.anchor}-{len(section.parts) + 1}"
            section.parts.append((text(title), anchor))
        mark = f' id="{text(anchor)}"' if anchor else ""
        self.add(f"<h{level}{mark}>{text(title)}</h{level}>")

    def contents(self) -> str:
        """The table of contents; empty for a page of a single section without parts."""
        if len(self.sections) + sum(len(section.parts) for section in self.sections) < 3:
            return ""
        with_parts = len(self.sections) <= MOST_WITH_PARTS
        lines = []
        for section in self.sections:
            parts = [f'<a href="#{anchor}">{title}</a>' for title, anchor in section.parts]
            listed_parts = (
                f' <span class="parts">{" · ".join(parts)}</span>' if parts and with_parts else ""
            )
            lines.append(f'<li><a href="#{section.anchor}">{section.title}</a>{listed_parts}</li>')
        return f'<nav class="toc" aria-label="Contents"><ol>{"".join(lines)}</ol></nav>'

    def pictures(self, panels: Sequence[Panel], kind: str = "") -> None:
        """Pictures side by side, as many as fit the screen. kind: "wide", "small", or the size
        in between.
        """
        if panels:
            content = "".join(self._picture(panel) for panel in panels)
            self.add(f'<div class="grid {text(kind)}">{content}</div>')

    def _picture(self, panel: Panel) -> str:
        self.figures += 1
        name = f"figure-{self.figures}"
        return (
            f'<figure><div class="plot" id="{name}" role="img" aria-label="{text(panel.alt)}" '
            f'style="height:{panel.height}px"></div>'
            f"<figcaption>{text(panel.caption)}</figcaption>"
            '<script type="application/json" '
            f'id="{name}-data">{figure_json(draw(panel))}</script></figure>'
        )

    def render(self) -> bytes:
        from plotly.offline import get_plotlyjs

        folder = resources.files("algophase.reports")
        style, drawing = (
            folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
        )
        scripts = [get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n"), drawing]
        allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
        policy = (
            f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src "
            "'unsafe-inline'; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'"
        )
        # The library does not run until the page is painted (page.js starts it), so that the text
        # is there at once.
        run = (
            '<script type="text/plain" '
            f'id="plotly">{scripts[0]}</script>\n<script>{scripts[1]}</script>\n'
        )
        lead = paragraph(self.lead, "note") if self.lead else ""
        page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{text(self.title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="page"><h1>{text(self.title)}</h1>{lead}{self.contents()}</header>
<main id="main">
{chr(10).join(self.parts)}
</main>
<footer>Made by algophase. Hover over a picture for its numbers, drag to zoom, double-click to zoom
out. This file needs no network connection.</footer>
<noscript><p>The pictures need JavaScript; text and tables do not.</p></noscript>
{run}</body>
</html>
"""
        return page.encode("utf-8", errors="replace")

    def write(self, path: Path) -> int:
        """Write the page, whole or not at all; returns its size in bytes."""
        if path.is_dir():
            raise InputError(
                f"{path} is a directory; give the name of a file, such as {path / 'report.html'}"
            )
        content = self.render()
        write_atomically(path, content)
        return len(content)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
