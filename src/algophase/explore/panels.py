"""Pieces of the page that a view fills: filters, statistics of a region, the table of runs, a
network.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dash import dcc, html

from algophase.analysis.catalogue import cell_text, label, listed, value_text
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.core.wording import counted, floored, form_name
from algophase.explore.networks import frequencies, switched_off
from algophase.explore.table import KEPT, VERDICT, Places, RunTable
from algophase.explore.view import REST, RUN_ID, View
from algophase.pages.network_text import program_lines
from algophase.reports.figures import drawn_circles
from algophase.reports.interactive import circle_name, circle_panel, logit_figure, main_order
from algophase.reports.network_section import (
    INSTANCE_TABLE,
    MEANING,
    NO_CIRCLES,
    instance_table,
    told_of,
)
from algophase.reports.plotly_style import Panel
from algophase.reports.program_panels import program_panels
from algophase.runs.rows import analysis_of_row

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PAGE = 25  # runs on one page of the table
TEXT, GRID, FAINT = "#1c2430", "#d9dde3", "#566173"
UPLOADS = [
    "sendChartToCloud",
    "sendDataToCloud",
    "editInChartStudio",
]  # nothing leaves this machine
CONFIG: Any = {"displaylogo": False, "plotlyServerURL": "", "responsive": True}
QUIET: Any = {**CONFIG, "displayModeBar": False}
MAP_CONFIG: Any = {
    **CONFIG,
    "displayModeBar": True,
    "scrollZoom": True,
    "modeBarButtonsToRemove": ["autoScale2d", "zoomIn2d", "zoomOut2d", "toImage", *UPLOADS],
}
BROKEN = "Its training broke down: the loss became NaN; no algorithm was learned."


def aria(**names: str) -> dict[str, Any]:
    """Attributes for screen readers."""
    return {f"aria-{name}": value for name, value in names.items()}


def dressed(figure: "Figure") -> "Figure":
    """A picture in the page's colours."""
    axis = {"gridcolor": GRID, "linecolor": FAINT, "tickcolor": FAINT}
    figure.update_layout(
        font={"color": TEXT}, modebar={"bgcolor": "rgba(255,255,255,0.7)", "color": FAINT}
    )
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    return figure


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], name: str) -> Any:
    """A table that scrolls by itself where it is too wide."""
    lines = [html.Tr([html.Td(cell) for cell in row]) for row in rows]
    inside = html.Table(
        [
            html.Caption(name),
            html.Thead(html.Tr([html.Th(cell, scope="col") for cell in head])),
            html.Tbody(lines),
        ]
    )
    return html.Div(inside, className="table", tabIndex=0, role="region", **aria(label=name))


def filter_chips(view: View) -> list[Any]:
    """The conditions in force, each a button that takes it away."""
    return [
        html.Button(
            [str(condition), html.Span(" ✕", **aria(hidden="true"))],
            id={"type": "remove-filter", "number": number},
            className="chip",
            **aria(label=f"Remove the filter {condition}"),
        )
        for number, condition in enumerate(view.filters)
    ]


def region_statistics(runs: RunTable, view: View, places: Places) -> list[Any]:
    """Counts by verdict with their shares and intervals, and medians."""
    where = "in the region" if view.region else "on the map"
    if not len(places):
        return [html.P(f"No {runs.noun}s {where}.")]
    those = f"{counted(len(places), runs.noun)} {where}"
    counts = []
    for name, share in runs.counts(places):
        low, high = share.interval
        counts.append(
            [name[:80], f"{share.count:,}", f"{share.value:.1%}", f"{low:.1%} to {high:.1%}"]
        )
    medians = [
        [
            label(column),
            value_text(column, middle),
            f"{value_text(column, low)} to {value_text(column, high)}",
            f"{count:,}",
        ]
        for column, middle, low, high, count in runs.medians(places, (view.x, view.y))
    ]
    return [
        table(
            [runs.verdict_name, f"{runs.noun}s", "share", "95% interval"],
            counts,
            f"Verdicts of the {those}",
        ),
        table(["", "median", "middle half", f"{runs.noun}s"], medians, f"Medians of the {those}"),
    ]


def runs_page(runs: RunTable, view: View, places: Places, page: int) -> tuple[Any, int, int]:
    """One page of the table of runs, which page it is, and how many there are. Each id is a
    button that opens the run.
    """
    pages = max(1, math.ceil(len(places) / PAGE))
    page = min(max(0, page), pages - 1)
    shown = list(
        dict.fromkeys(
            name for name in (VERDICT, view.x, view.y, view.colour, KEPT) if name in runs.columns
        )
    )
    rows = []
    for place in places[page * PAGE : (page + 1) * PAGE].tolist():
        run_id, name = runs.run_id(place), runs.run_name(place)
        opens: Any = cell_text(name) if name else f"row {place}"
        if RUN_ID.fullmatch(run_id):
            chosen = run_id in (view.run, view.pin)
            opens = html.Button(
                cell_text(name),
                id={"type": "open-run", "run": run_id},
                className="link",
                **aria(
                    label=f"Show {runs.noun} {cell_text(name)}",
                    pressed="true" if chosen else "false",
                ),
            )
        rows.append([opens, *(value_text(name, runs.columns[name][place]) for name in shown)])
    where = "in the region" if view.region else "on the map"
    name = f"{runs.noun.capitalize()}s {where}, page {page + 1} of {pages}"
    return table([runs.noun, *map(label, shown)], rows, name), page, pages


def verdict_box(analysis: Analysis, *more: Any) -> Any:
    """What a network is and why; then its instances and its program, where they are known."""
    told, reasons = told_of(analysis)
    inside = program_box(analysis) if analysis.verdict.known else []
    return html.Div([_box(told, reasons, *more), *inside])


def program_box(analysis: Analysis) -> list[Any]:
    """Instances and program, which need no weights: a row has their numbers."""
    notes = [
        str(analysis.verdict.confidence),
        *program_lines(analysis.to_dict()["program"]),
        f"by the paper's rules: {analysis.paper.title}",
    ]
    lines = [html.P(f"{line[:1].upper()}{line[1:]}.", className="note") for line in notes]
    if not analysis.instances.instances:
        return lines
    instances = table(INSTANCE_TABLE, instance_table(analysis), "Instances, the largest first")
    pictures = html.Div(
        [picture(panel) for panel in program_panels(analysis)], className="pictures"
    )
    return [instances, *lines, html.Details([html.Summary("Profiles and shares"), pictures])]


def row_box(row: Mapping[str, Any], verdict: str) -> Any:
    """What the table says about a run whose network is not at hand."""
    note, analysis = html.P("From the table.", className="note"), analysis_of_row(row)
    if analysis is not None:
        return verdict_box(analysis, note)
    reasons = row.get("reasons") or row.get("paper_reasons")
    lines = [str(reason)[:400] for reason in reasons[:20]] if isinstance(reasons, list) else []
    told = MEANING.get(
        verdict, BROKEN if verdict == "diverged" else f"The table calls it {verdict[:80]}."
    )
    return _box(told, lines, note)


def _box(told: str, reasons: Sequence[str], *more: Any) -> Any:
    return html.Div(
        [html.Strong(told), html.Ul([html.Li(reason) for reason in reasons]), *more],
        className="verdict",
    )


def instance_options(specimen: Specimen) -> list[dict[str, Any]]:
    """One entry per instance, by its place."""
    analysis = specimen.analysis
    pairs = zip(analysis.instances.instances, analysis.verdict.forms, strict=True)
    return [
        {
            "label": (
                f"{', '.join(map(str, each.frequencies))}: {form_name(form)}, "
                f"{each.share:.1%} of the logits"
            ),
            "value": place,
        }
        for place, (each, form) in enumerate(pairs)
    ]


def instances_on(specimen: Specimen, off: Collection[int]) -> list[int]:
    """The places of the instances all of whose frequencies are on."""
    every = specimen.analysis.instances.instances
    return [place for place, each in enumerate(every) if not set(each.frequencies) & set(off)]


def metrics_table(values: Mapping[str, Any]) -> Any:
    rows = [
        [quantity.label, quantity.text(values.get(quantity.name), "-")]
        for quantity in listed(values)
    ]
    return table(["metric", "value"], rows, "Metrics")


def settings_line(runs: RunTable, place: int) -> str:
    """The settings that differ between runs, and the run's index."""
    parts = [f"index {cell_text(runs.columns['index'][place])}"] if "index" in runs.columns else []
    varied = [
        name for name in runs.settings if name in runs.filterable and runs.columns[name].varies
    ]
    parts += [f"{label(name)} {value_text(name, runs.columns[name][place])}" for name in varied]
    return ", ".join(parts)


def circle_options(specimen: Specimen) -> list[dict[str, Any]]:
    """One entry per circle, and one for what belongs to none."""
    circles = {
        item.circle.frequency: f"{circle_name(item)}, {item.circle.variance_share:.1%}"
        for item in specimen.evidence
    }
    every = frequencies(specimen)
    found: list[dict[str, Any]] = [
        {"label": circles.get(k, f"k = {k} (no circle)"), "value": k} for k in every
    ]
    return [*found, {"label": "the rest of the embedding", "value": REST}]


def circle_pictures(specimen: Specimen) -> list[Any]:
    if not specimen.evidence:
        return [html.P(NO_CIRCLES)]
    return [picture(circle_panel(specimen, item)) for item in drawn_circles(specimen)]


def picture(panel: Panel) -> Any:
    graph = dcc.Graph(
        figure=dressed(panel.figure),
        config=QUIET,
        responsive=True,
        style={"height": panel.figure.layout.height},
    )
    return html.Figure(
        [html.Div(graph, role="img", **aria(label=panel.alt)), html.Figcaption(panel.caption)]
    )


class Logits(NamedTuple):
    """Correct logits; in words, the accuracy left, the order of rows and columns, and how many
    circles lead.
    """

    figure: "Figure"
    accuracy: str
    order: str
    kept: str


def logits_picture(specimen: Specimen, off: Sequence[int]) -> Logits:
    """Correct logits with these circles off."""
    answer, (order, ordered) = switched_off(specimen, off), main_order(specimen)
    known = frequencies(specimen)
    names = [f"k = {frequency}" for frequency in off if frequency in known]
    if REST in off:
        names.append("what is no circle")
    without = f" without {', '.join(names)}" if names else ", whole network"
    count = leading(known, off)
    kept = f"Keep the first {count} of {len(known)} circles, in the order listed"
    if set(known[count:]) - set(off):
        kept = (
            f"Keep the first of {len(known)} circles, in the order listed (now chosen one by one)"
        )
    return Logits(
        dressed(logit_figure(answer, order)),
        f"Accuracy {floored(answer.accuracy)}{without}.",
        f"The logit of the right answer for every pair; rows and columns in {ordered}.",
        kept,
    )


def leading(known: Sequence[int], off: Sequence[int]) -> int:
    """How many circles are on before the first that is off."""
    return next((place for place, frequency in enumerate(known) if frequency in off), len(known))
