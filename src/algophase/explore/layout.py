"""The empty page: every control with its label, and the places that a view fills."""

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from algophase.analysis.catalogue import label
from algophase.explore.map_figure import HEIGHT
from algophase.explore.panels import MAP_CONFIG, QUIET, aria
from algophase.explore.table import RunTable
from algophase.explore.view import LONGEST, PARTS, Side
from algophase.reports.interactive import SQUARE
from algophase.runs.selection import OPERATORS

POLL_MILLISECONDS = 700


def make_layout(table: RunTable, behind_a_map: bool = False, *, growing: bool = False) -> Any:
    """growing: networks are still being analyzed, and the page shows them as they come."""
    home = [html.P(html.A("All populations", href="/"))] if behind_a_map else []
    about = html.Div(about_lines(table.about, table.problems), id="about")
    head = html.Header(
        [*home, html.H1(f"algophase: {table.name}"), about, _arrivals(growing)], className="page"
    )
    if not growing and (not table.count or not table.axes):
        return html.Div([head, html.Main(html.P("There are no runs to draw."), id="main")])
    return html.Div(
        [
            html.A("Skip to the map", href="#main", className="skip"),
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="echo"),
            dcc.Store(id="region"),
            dcc.Store(id="map-key"),
            dcc.Store(id="runs-key"),
            dcc.Store(id="marks"),
            dcc.Store(id="version", data=0),
            *(dcc.Store(id=f"{name}-part") for name in PARTS),
            dcc.Store(id="arrived"),
            dcc.Interval(id="poll", interval=POLL_MILLISECONDS, disabled=True),
            dcc.Interval(id="arrivals-poll", interval=POLL_MILLISECONDS, disabled=not growing),
            head,
            html.Main(
                [
                    html.Div(id="problems", role="alert"),
                    html.Div(
                        [_map(table), _network("run"), _network("pin"), _region(table)],
                        id="workspace",
                        className="workspace",
                    ),
                ],
                id="main",
            ),
            html.Footer(
                "Click a point, or a run in the table, to see its network. Drag on the map to "
                "select a region, double-click to "
                "clear it; the scroll wheel zooms. The address holds the view: copy it to share "
                "or keep it."
            ),
        ]
    )


def about_lines(about: Sequence[str], problems: Sequence[str]) -> list[Any]:
    """A table in words, and what of it could not be read."""
    lines = [html.P(line, className="note") for line in about]
    return [*lines, *(html.P(line, className="problem", role="alert") for line in problems)]


def _arrivals(growing: bool) -> Any:
    """How far the analyses of a directory's networks are."""
    return html.Div(
        [
            html.P(id="arrivals-text", role="status", **aria(live="polite")),
            html.Progress(
                id="arrivals-progress", max="1", value="0", **aria(label="Networks analyzed")
            ),
        ],
        id="arrivals",
        className="job",
        hidden=not growing,
    )


def _labelled(text: str, control: Any) -> Any:
    """A control under its label. The label is the group's name as well: a dropdown's button is
    named by its value alone.
    """
    name = html.Label(text, htmlFor=control.id, id=f"{control.id}-label")
    return html.Div(
        [name, control], className="control", role="group", **aria(labelledby=f"{control.id}-label")
    )


def column_options(columns: Sequence[str]) -> list[Any]:
    """What a list of columns offers."""
    return [{"label": label(column)[:80], "value": column} for column in columns]


def _choice(name: str, text: str, columns: list[str]) -> Any:
    options = column_options(columns)
    return _labelled(text, dcc.Dropdown(id=name, options=options, clearable=False, searchable=True))


def _axis(name: str, text: str, columns: list[str]) -> Any:
    """Which column an axis shows, and whether on a logarithmic scale."""
    control = _choice(name, text, columns)
    option = {"label": "log scale", "value": "log"}
    control.children.append(
        dcc.Checklist(id=f"{name}-scale", options=[option], value=[], className="scale")
    )
    return control


def _map(table: RunTable) -> Any:
    operators = dcc.Dropdown(
        id="filter-operator", options=list(OPERATORS), value="=", clearable=False, searchable=False
    )
    value = dcc.Input(
        id="filter-value",
        type="text",
        maxLength=LONGEST,
        autoComplete="off",
        placeholder="a value, or null",
    )
    listed = dcc.Dropdown(id="filter-choice", options=[], clearable=False, searchable=False)
    return html.Section(
        [
            html.H2(f"Map of the {table.noun}s", id="map-title"),
            html.Div(
                [
                    _axis("x", "Across", table.axes),
                    _axis("y", "Up", table.axes),
                    _choice("colour", "Colour", table.colours),
                ],
                className="controls",
            ),
            html.Div(
                [
                    _choice("filter-column", "Show only runs with", table.filterable),
                    _labelled("which is", operators),
                    _labelled("value", value),
                    html.Div(
                        _labelled("or one of its values", listed), id="filter-values", hidden=True
                    ),
                    html.Button("Add filter", id="add-filter"),
                ],
                className="controls filter",
            ),
            html.P(id="filter-problem", role="alert", className="problem"),
            html.Div(
                id="filters", className="chips", role="group", **aria(label="Filters in force")
            ),
            html.P(id="status", role="status", **aria(live="polite")),
            html.Div(
                dcc.Graph(id="map", config=MAP_CONFIG, responsive=True, style={"height": HEIGHT}),
                role="group",
                **aria(
                    label="Map of the runs; the table of runs below lists the same ones for the "
                    "keyboard"
                ),
            ),
        ],
        className="map",
        **aria(labelledby="map-title"),
    )


def _region(table: RunTable) -> Any:
    return html.Section(
        [
            html.H2(f"{table.noun.capitalize()}s", id="runs-title"),
            html.Div(
                [
                    html.Button("Clear the region", id="clear-region", hidden=True),
                    html.A(
                        f"Download {table.noun}s as CSV",
                        id="download",
                        href="runs.csv",
                        download="",
                    ),
                ],
                className="actions",
            ),
            html.Div(id="statistics", className="side-by-side"),
            html.Div(id="runs"),
            html.Div(
                [
                    html.Button("Earlier runs", id="earlier"),
                    html.Button("Later runs", id="later"),
                    dcc.Store(id="page", data=0),
                ],
                className="actions",
            ),
        ],
        className="region",
        **aria(labelledby="runs-title"),
    )


def _network(side: Side) -> Any:
    actions = (
        [html.Button("Pin for comparison", id="pin"), html.Button("Close", id="close-run")]
        if side == "run"
        else [html.Button("Unpin", id="close-pin")]
    )
    which = "shown" if side == "run" else "pinned"
    inside = html.Div(
        [
            html.H3("Instances on and off"),
            html.Fieldset(
                [
                    html.Legend(f"Instances of the {which} network that are switched on"),
                    dcc.Checklist(id=f"{side}-instances", options=[], value=[]),
                ]
            ),
            html.H3("Circles on and off"),
            html.Fieldset(
                [
                    html.Legend(f"Circles of the {which} network that are switched on"),
                    dcc.Checklist(id=f"{side}-circles", options=[], value=[]),
                ]
            ),
            _labelled(
                "Keep the first circles",
                dcc.Input(id=f"{side}-keep", type="range", min=0, max=1, step=1, value=0),
            ),
            html.P(
                id=f"{side}-accuracy", className="accuracy", role="status", **aria(live="polite")
            ),
            html.Div(
                dcc.Graph(
                    id=f"{side}-logits", config=QUIET, responsive=True, style={"height": SQUARE}
                ),
                role="img",
                **aria(label="Correct logits by a minus b, rows, and a plus b, columns"),
            ),
            html.P(id=f"{side}-order", className="note"),
            html.H3("Circles in the embedding"),
            html.Div(id=f"{side}-pictures", className="pictures"),
        ],
        id=f"{side}-inside",
        hidden=True,
    )
    job = html.Div(
        [
            html.P(id=f"{side}-job-text"),
            html.Progress(
                id=f"{side}-progress", hidden=True, **aria(label="Progress of the training")
            ),
            html.Div(
                [
                    html.Button("Retrain this network", id=f"{side}-train", hidden=True),
                    html.Button("Stop", id=f"{side}-stop", hidden=True),
                ],
                className="actions",
            ),
        ],
        id=f"{side}-job",
        className="job",
        hidden=True,
    )
    return html.Section(
        [
            dcc.Store(id=f"{side}-shown"),
            dcc.Store(id=f"{side}-drawn"),
            dcc.Store(id=f"{side}-settled"),
            dcc.Store(id=f"{side}-pictured"),
            html.H2(id=f"{side}-title"),
            html.Div(actions, className="actions"),
            html.P(id=f"{side}-settings", className="note", role="status", **aria(live="polite")),
            html.Div(id=f"{side}-verdict"),
            job,
            inside,
            html.Div(id=f"{side}-metrics"),
        ],
        id=f"{side}-panel",
        className=f"network {side}",
        hidden=True,
        **aria(labelledby=f"{side}-title"),
    )
