"""The empty page: every control with its label, and the places that a view fills."""

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from algophase.analysis.catalogue import label
from algophase.explore.map_figure import HEIGHT
from algophase.explore.panels import MAP_CONFIG, QUIET, aria
from algophase.explore.view import LONGEST, PARTS, Side
from algophase.explore.visible_runs import PageData, axes, colors, filterable
from algophase.reports.network_panels import SQUARE
from algophase.runs.runs import Runs
from algophase.runs.selection import OPERATORS

POLL_MILLISECONDS = 700
HELP = (
    "Click a point, or a run in the table, to see its network. Drag on the map to select a region, "
    "double-click to clear it; the scroll wheel zooms. The address holds the view: copy it to "
    "share or keep it."
)


def make_layout(data: PageData, behind_a_map: bool = False, *, growing: bool = False) -> Any:
    """growing: networks are still being analyzed, and the page shows them as they come."""
    runs = data.runs
    head = _head(data, behind_a_map, growing)
    if not growing and (not len(runs) or not axes(runs)):
        nothing = html.P("There are no runs to draw.")
        return html.Div([head, html.Main(nothing, id="main")])
    problems = html.Div(id="problems", role="alert")
    sections = [_map(runs), _network("run"), _network("pin"), _runs(runs)]
    workspace = html.Div(sections, id="workspace", className="workspace")
    return html.Div(
        [
            html.A("Skip to the map", href="#main", className="skip"),
            *_stores(growing),
            head,
            html.Main([problems, workspace], id="main"),
            html.Footer(HELP),
        ]
    )


def _head(data: PageData, behind_a_map: bool, growing: bool) -> Any:
    title = html.H1(f"algophase: {data.runs.name}")
    about = html.Div(about_lines(data.about, data.problems), id="about")
    parts = [title, about, _arrivals(growing)]
    if behind_a_map:
        parts.insert(0, html.P(html.A("All populations", href="/")))
    return html.Header(parts, className="page")


def _stores(growing: bool) -> list[Any]:
    """What the page remembers and does not show: the address and its parts, keys of what is drawn,
    and clocks.
    """
    keys = [dcc.Store(id=name) for name in ("echo", "region", "map-key", "runs-key", "marks")]
    parts = [dcc.Store(id=f"{name}-part") for name in PARTS]
    return [
        dcc.Location(id="url", refresh=False),
        *keys,
        dcc.Store(id="version", data=0),
        *parts,
        dcc.Store(id="arrived"),
        dcc.Interval(id="poll", interval=POLL_MILLISECONDS, disabled=True),
        dcc.Interval(id="arrivals-poll", interval=POLL_MILLISECONDS, disabled=not growing),
    ]


def about_lines(about: Sequence[str], problems: Sequence[str]) -> list[Any]:
    """A table in words, and what of it could not be read."""
    lines = [html.P(line, className="note") for line in about]
    alerts = [html.P(line, className="problem", role="alert") for line in problems]
    return [*lines, *alerts]


def _arrivals(growing: bool) -> Any:
    """How far the analyses of a directory's networks are."""
    text = html.P(id="arrivals-text", role="status", **aria(live="polite"))
    name = aria(label="Networks analyzed")
    progress = html.Progress(id="arrivals-progress", max="1", value="0", **name)
    return html.Div([text, progress], id="arrivals", className="job", hidden=not growing)


def _labeled(text: str, control: Any) -> Any:
    """A control under its label. The label is the group's name as well: a dropdown's button is
    named by its value alone.
    """
    label_id = f"{control.id}-label"
    name = html.Label(text, htmlFor=control.id, id=label_id)
    return html.Div([name, control], className="control", role="group", **aria(labelledby=label_id))


def column_options(columns: Sequence[str]) -> list[Any]:
    """What a list of columns offers."""
    return [{"label": label(column)[:80], "value": column} for column in columns]


def _choice(name: str, text: str, columns: list[str]) -> Any:
    options = column_options(columns)
    return _labeled(text, dcc.Dropdown(id=name, options=options, clearable=False, searchable=True))


def _axis(name: str, text: str, columns: list[str]) -> Any:
    """Which column an axis shows, and whether on a logarithmic scale."""
    control = _choice(name, text, columns)
    options = [{"label": "log scale", "value": "log"}]
    scale = dcc.Checklist(id=f"{name}-scale", options=options, value=[], className="scale")
    control.children.append(scale)
    return control


def _actions(*controls: Any) -> Any:
    """Buttons and links side by side."""
    return html.Div(list(controls), className="actions")


def _map(runs: Runs) -> Any:
    controls = html.Div(
        [
            _axis("x", "Across", axes(runs)),
            _axis("y", "Up", axes(runs)),
            _choice("color", "Color", colors(runs)),
        ],
        className="controls",
    )
    graph = dcc.Graph(id="map", config=MAP_CONFIG, responsive=True, style={"height": HEIGHT})
    # The points cannot be reached by keyboard.
    graph_name = "Map of the runs; the table of runs below lists the same ones for the keyboard"
    return html.Section(
        [
            html.H2(f"Map of the {runs.noun}s", id="map-title"),
            controls,
            _new_filter(runs),
            html.P(id="filter-problem", role="alert", className="problem"),
            html.Div(
                id="filters", className="chips", role="group", **aria(label="Filters in force")
            ),
            html.P(id="status", role="status", **aria(live="polite")),
            html.Div(graph, role="group", **aria(label=graph_name)),
        ],
        className="map",
        **aria(labelledby="map-title"),
    )


def _new_filter(runs: Runs) -> Any:
    """The controls that make a filter: column, operator, and a value, written or chosen."""
    operator = dcc.Dropdown(
        id="filter-operator", options=list(OPERATORS), value="=", clearable=False, searchable=False
    )
    value = dcc.Input(
        id="filter-value",
        type="text",
        maxLength=LONGEST,
        autoComplete="off",
        placeholder="a value, or null",
    )
    values = dcc.Dropdown(id="filter-choice", options=[], clearable=False, searchable=False)
    choice = _labeled("or one of its values", values)
    return html.Div(
        [
            _choice("filter-column", "Show only runs with", filterable(runs)),
            _labeled("which is", operator),
            _labeled("value", value),
            html.Div(choice, id="filter-values", hidden=True),
            html.Button("Add filter", id="add-filter"),
        ],
        className="controls filter",
    )


def _runs(runs: Runs) -> Any:
    """The table of the runs on the map or in its region, and their statistics."""
    clear = html.Button("Clear the region", id="clear-region", hidden=True)
    link = f"Download {runs.noun}s as CSV"
    download = html.A(link, id="download", href="runs.csv", download="")
    earlier = html.Button("Earlier runs", id="earlier")
    later = html.Button("Later runs", id="later")
    return html.Section(
        [
            html.H2(f"{runs.noun.capitalize()}s", id="runs-title"),
            _actions(clear, download),
            html.Div(id="statistics", className="side-by-side"),
            html.Div(id="runs"),
            _actions(earlier, later, dcc.Store(id="page", data=0)),
        ],
        className="region",
        **aria(labelledby="runs-title"),
    )


def _network(side: Side) -> Any:
    """A network's side of the page, hidden until a run is chosen."""
    if side == "run":
        pin = html.Button("Pin for comparison", id="pin")
        actions = _actions(pin, html.Button("Close", id="close-run"))
    else:
        actions = _actions(html.Button("Unpin", id="close-pin"))
    stores = [dcc.Store(id=f"{side}-{key}") for key in ("shown", "drawn", "settled", "pictured")]
    return html.Section(
        [
            *stores,
            html.H2(id=f"{side}-title"),
            actions,
            html.P(id=f"{side}-settings", className="note", role="status", **aria(live="polite")),
            html.Div(id=f"{side}-verdict"),
            _job(side),
            _inside(side),
            html.Div(id=f"{side}-metrics"),
        ],
        id=f"{side}-panel",
        className=f"network {side}",
        hidden=True,
        **aria(labelledby=f"{side}-title"),
    )


def _job(side: Side) -> Any:
    """Work on a network in the background, and the offer to train it again."""
    text = html.P(id=f"{side}-job-text")
    name = aria(label="Progress of the training")
    progress = html.Progress(id=f"{side}-progress", hidden=True, **name)
    train = html.Button("Retrain this network", id=f"{side}-train", hidden=True)
    stop = html.Button("Stop", id=f"{side}-stop", hidden=True)
    parts = [text, progress, _actions(train, stop)]
    return html.Div(parts, id=f"{side}-job", className="job", hidden=True)


def _inside(side: Side) -> Any:
    """Switches of a network, and the pictures that follow them."""
    keep = dcc.Input(id=f"{side}-keep", type="range", min=0, max=1, step=1, value=0)
    graph = dcc.Graph(id=f"{side}-logits", config=QUIET, responsive=True, style={"height": SQUARE})
    graph_name = "Logits of the network, by rows and columns as described below"
    return html.Div(
        [
            html.H3("Instances on and off"),
            _switches(side, "instances"),
            html.H3(id=f"{side}-circles-title"),
            _switches(side, "circles"),
            _labeled("Keep the first", keep),
            html.P(
                id=f"{side}-accuracy", className="accuracy", role="status", **aria(live="polite")
            ),
            html.Div(graph, role="img", **aria(label=graph_name)),
            html.P(id=f"{side}-order", className="note"),
            html.H3(id=f"{side}-pictures-title"),
            html.Div(id=f"{side}-pictures", className="pictures"),
        ],
        id=f"{side}-inside",
        hidden=True,
    )


def _switches(side: Side, what: str) -> Any:
    which = "shown" if side == "run" else "pinned"
    legend = f"{what.capitalize()} of the {which} network that are switched on"
    checklist = dcc.Checklist(id=f"{side}-{what}", options=[], value=[])
    return html.Fieldset([html.Legend(legend), checklist])
