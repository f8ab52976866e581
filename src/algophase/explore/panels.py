"""Pieces of the page that a view fills: filters, statistics of a region, the table of runs, a
network.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dash import dcc, html

from algophase.analysis.catalogue import cell_text, label, listed, value_text
from algophase.analysis.presentation import group_program_panels, program_panels
from algophase.analysis.program.by_representation import OnGroup
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.group_verdict import form_of
from algophase.core.representations import representations
from algophase.core.wording import counted, floored, form_name
from algophase.explore.networks import (
    frequencies,
    instance_members,
    means_without,
    switched_off,
)
from algophase.explore.view import REST, RUN_ID, View
from algophase.explore.visible_runs import (
    KEPT,
    VERDICT,
    VisibleRuns,
    filterable,
    medians,
    verdict_shares,
)
from algophase.pages.network_text import GROUP_HEAD, program_lines
from algophase.pictures.marks import Panel
from algophase.pictures.to_plotly import draw
from algophase.reports.group_panels import (
    AXES,
    Part,
    by_class,
    coset_map,
    order_words,
    parts_of,
)
from algophase.reports.group_section import class_rows, group_instance_table, group_sentence
from algophase.reports.network_panels import (
    circle_name,
    circle_panel,
    drawn_circles,
    logit_panel,
    main_order,
)
from algophase.reports.network_section import (
    INSTANCE_TABLE,
    MEANING,
    NO_CIRCLES,
    instance_table,
    told_of,
)
from algophase.runs.columns import python_values
from algophase.runs.overview import SETTING_NAMES
from algophase.runs.rows import analysis_of_row
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PAGE = 25  # runs on one page of the table
TEXT, GRID, FAINT = "#1c2430", "#d9dde3", "#566173"
# Nothing leaves this machine.
UPLOADS = ["sendChartToCloud", "sendDataToCloud", "editInChartStudio"]
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
    """A picture in the page's colors."""
    axis = {"gridcolor": GRID, "linecolor": FAINT, "tickcolor": FAINT}
    tools = {"bgcolor": "rgba(255,255,255,0.7)", "color": FAINT}
    figure.update_layout(font={"color": TEXT}, modebar=tools)
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    return figure


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], name: str) -> Any:
    """A table that scrolls by itself where it is too wide."""
    headings = html.Tr([html.Th(cell, scope="col") for cell in head])
    lines = [html.Tr([html.Td(cell) for cell in row]) for row in rows]
    whole = html.Table([html.Caption(name), html.Thead(headings), html.Tbody(lines)])
    return html.Div(whole, className="table", tabIndex=0, role="region", **aria(label=name))


def filter_chips(view: View) -> list[Any]:
    """The conditions in force, each a button that takes it away."""
    chips = []
    for number, condition in enumerate(view.filters):
        cross = html.Span(" ✕", **aria(hidden="true"))
        chip = html.Button(
            [str(condition), cross],
            id={"type": "remove-filter", "number": number},
            className="chip",
            **aria(label=f"Remove the filter {condition}"),
        )
        chips.append(chip)
    return chips


def _where(view: View) -> str:
    return "in the region" if view.region else "on the map"


def region_statistics(visible: VisibleRuns) -> list[Any]:
    """Counts by verdict with their shares and intervals, and medians."""
    runs, view, rows = visible.runs, visible.view, visible.brushed
    nouns = f"{runs.noun}s"
    if not len(rows):
        return [html.P(f"No {nouns} {_where(view)}.")]
    those = f"{counted(len(rows), runs.noun)} {_where(view)}"
    counts = []
    for name, share in verdict_shares(runs, rows):
        low, high = share.interval
        interval = f"{low:.1%} to {high:.1%}"
        counts.append([name[:80], f"{share.count:,}", f"{share.value:.1%}", interval])
    counts_head = [runs.verdict_name, nouns, "share", "95% interval"]
    middles = []
    for column, median, lower, upper, count in medians(runs, rows, (view.x, view.y)):
        middle_half = f"{value_text(column, lower)} to {value_text(column, upper)}"
        middles.append([label(column), value_text(column, median), middle_half, f"{count:,}"])
    medians_head = ["", "median", "middle half", nouns]
    return [
        table(counts_head, counts, f"Verdicts of the {those}"),
        table(medians_head, middles, f"Medians of the {those}"),
    ]


def runs_page(visible: VisibleRuns, page: int) -> tuple[Any, int, int]:
    """One page of the table of runs, which page it is, and how many there are. Each id is a
    button that opens the run.
    """
    runs, view = visible.runs, visible.view
    pages = max(1, math.ceil(len(visible.brushed) / PAGE))
    page = min(max(0, page), pages - 1)
    rows = visible.brushed[page * PAGE : (page + 1) * PAGE]
    wanted_columns = dict.fromkeys((VERDICT, view.x, view.y, view.color, KEPT))
    columns = [column for column in wanted_columns if column in runs]
    ids = runs.columns.texts("run_id", rows)
    names = runs.columns.texts(runs.named_by, rows)
    buttons = []
    for row, run_id, run_name in zip(rows.tolist(), ids, names, strict=True):
        buttons.append(_run_button(visible, row, run_id, run_name))
    cells = [buttons]
    for column in columns:
        values = python_values(runs[column].iloc[rows])
        cells.append([value_text(column, value) for value in values])
    lines = list(zip(*cells, strict=True))
    head = [runs.noun, *(label(column) for column in columns)]
    name = f"{runs.noun.capitalize()}s {_where(view)}, page {page + 1} of {pages}"
    return table(head, lines, name), page, pages


def _run_button(visible: VisibleRuns, row: int, run_id: str, run_name: str) -> Any:
    """A run's name, which opens it; a name alone where its id is none."""
    name = cell_text(run_name) if run_name else f"row {row}"
    if not RUN_ID.fullmatch(run_id):
        return name
    pressed = "true" if run_id in (visible.view.run, visible.view.pin) else "false"
    return html.Button(
        name,
        id={"type": "open-run", "run": run_id},
        className="link",
        **aria(label=f"Show {visible.runs.noun} {name}", pressed=pressed),
    )


def verdict_box(analysis: Analysis, *more: Any) -> Any:
    """What a network is and why; then its instances and its program, where they are known."""
    sentence, reasons = told_of(analysis)
    program = program_box(analysis) if analysis.verdict.known else []
    return html.Div([_box(sentence, reasons, *more), *program])


def program_box(analysis: Analysis) -> list[Any]:
    """Instances and program, which need no weights: a row has their numbers."""
    if analysis.on_group is not None:
        return _group_box(analysis, analysis.on_group)
    notes = [
        str(analysis.verdict.confidence),
        *program_lines(analysis.to_dict()["program"]),
        f"by the paper's rules: {analysis.paper.title}",
    ]
    lines = [html.P(f"{line[:1].upper()}{line[1:]}.", className="note") for line in notes]
    if not analysis.instances.instances:
        return lines
    instances = table(INSTANCE_TABLE, instance_table(analysis), "Instances, the largest first")
    panels = [picture(panel) for panel in program_panels(analysis)]
    pictures = html.Div(panels, className="pictures")
    return [instances, *lines, html.Details([html.Summary("Profiles and shares"), pictures])]


def _group_box(analysis: Analysis, on_group: OnGroup) -> list[Any]:
    """Of a network on a group that is not cyclic: instances, what its logits are functions of."""
    notes = [f"{analysis.verdict.confidence}.", group_sentence(on_group)]
    lines = [html.P(line, className="note") for line in notes]
    classes = table(["class", "share of the logits"], class_rows(on_group), "Classes of the logits")
    panels = [picture(panel) for panel in group_program_panels(analysis)]
    pictures = html.Div(panels, className="pictures")
    more = html.Details([html.Summary("Representations and shares"), classes, pictures])
    if not on_group.instances:
        return [*lines, more]
    rows = group_instance_table(analysis)
    return [table(GROUP_HEAD, rows, "Instances, the largest first"), *lines, more]


def row_box(row: Mapping[str, Any], verdict: str) -> Any:
    """What the table says about a run whose network is not at hand."""
    note = html.P("From the table.", className="note")
    analysis = analysis_of_row(row)
    if analysis is not None:
        return verdict_box(analysis, note)
    reasons = row.get("reasons") or row.get("paper_reasons")
    lines = [str(reason)[:400] for reason in reasons[:20]] if isinstance(reasons, list) else []
    if verdict in MEANING:
        sentence = MEANING[verdict]
    elif verdict == "diverged":
        sentence = BROKEN
    else:
        sentence = f"The table calls it {verdict[:80]}."
    return _box(sentence, lines, note)


def _box(sentence: str, reasons: Sequence[str], *more: Any) -> Any:
    listed_reasons = html.Ul([html.Li(reason) for reason in reasons])
    return html.Div([html.Strong(sentence), listed_reasons, *more], className="verdict")


def instance_options(specimen: Specimen) -> list[dict[str, Any]]:
    """One entry per instance, by its number."""
    analysis = specimen.analysis
    if analysis.on_group is not None:
        return _group_options(analysis.on_group)
    pairs = zip(analysis.instances.instances, analysis.verdict.forms, strict=True)
    options = []
    for number, (instance, form) in enumerate(pairs):
        members = ", ".join(map(str, instance.frequencies))
        name = f"{members}: {form_name(form)}, {instance.share:.1%} of the logits"
        options.append({"label": name, "value": number})
    return options


def _group_options(on_group: OnGroup) -> list[dict[str, Any]]:
    options = []
    for number, instance in enumerate(on_group.instances):
        members = ", ".join(instance.representations)
        name = f"{members}: {form_of(instance)}, {instance.share:.1%} of the logits"
        options.append({"label": name, "value": number})
    return options


def instances_on(specimen: Specimen, off: Collection[int]) -> list[int]:
    """The numbers of the instances all of whose frequencies are on."""
    members = instance_members(specimen)
    return [number for number, own in enumerate(members) if set(own).isdisjoint(off)]


def metrics_table(values: Mapping[str, Any], defined_only: bool = False) -> Any:
    """defined_only: without those that have no value, as on a group that is not cyclic."""
    quantities = listed(values)
    if defined_only:
        quantities = [item for item in quantities if item.text(values.get(item.name), "-") != "-"]
    rows = [[item.label, item.text(values.get(item.name), "-")] for item in quantities]
    return table(["metric", "value"], rows, "Metrics")


def settings_line(runs: Runs, row: int) -> str:
    """The settings that differ between runs, and the run's index."""
    parts = []
    if "index" in runs:
        parts.append(f"index {cell_text(runs.columns.value('index', row))}")
    listed_columns = runs.columns.varying & {*filterable(runs)}
    for name in SETTING_NAMES:
        if name in listed_columns:
            value = value_text(name, runs.columns.value(name, row))
            parts.append(f"{label(name)} {value}")
    return ", ".join(parts)


def circle_options(specimen: Specimen) -> list[dict[str, Any]]:
    """One entry per circle, or per representation, and one for what belongs to none."""
    on_group = specimen.analysis.on_group
    labels = dict[int, str]()
    if on_group is not None:
        in_tables = {member.name: member.share for member in on_group.embedding}
        members = representations(specimen.group)
        for number in frequencies(specimen):
            name = members[number].name
            labels[number] = f"{name}, {in_tables[name]:.1%} of the tables"
        labels[REST] = "the rest of the operand tables"
        return [{"label": text, "value": number} for number, text in labels.items()]
    for frequency in frequencies(specimen):
        labels[frequency] = f"k = {frequency} (no circle)"
    for item in specimen.evidence:
        share = item.circle.variance_share
        labels[item.circle.frequency] = f"{circle_name(item)}, {share:.1%}"
    labels[REST] = "the rest of the embedding"
    return [{"label": text, "value": frequency} for frequency, text in labels.items()]


def circle_pictures(specimen: Specimen) -> list[Any]:
    """The circles; of a network on a group, mean logits by conjugacy class."""
    if specimen.analysis.on_group is not None:
        return [picture(by_class(part)) for part in parts_of(specimen)]
    if not specimen.evidence:
        return [html.P(NO_CIRCLES)]
    return [picture(circle_panel(specimen, item)) for item in drawn_circles(specimen)]


def picture(panel: Panel) -> Any:
    figure = dressed(draw(panel))
    style = {"height": panel.height}
    graph = dcc.Graph(figure=figure, config=QUIET, responsive=True, style=style)
    image = html.Div(graph, role="img", **aria(label=panel.alt))
    return html.Figure([image, html.Figcaption(panel.caption)])


class Logits(NamedTuple):
    """Correct logits; in words, the accuracy left, the order of rows and columns, and how many
    circles lead.
    """

    figure: "Figure"
    accuracy: str
    order: str
    kept: str


def logits_picture(specimen: Specimen, off: Sequence[int]) -> Logits:
    """Correct logits with these circles off; on a group, mean logits by cosets."""
    if specimen.analysis.on_group is not None:
        return _group_logits(specimen, off)
    answer = switched_off(specimen, off)
    order, order_name = main_order(specimen)
    circles = frequencies(specimen)
    names = [f"k = {frequency}" for frequency in off if frequency in circles]
    if REST in off:
        names.append("what is no circle")
    without = f" without {', '.join(names)}" if names else ", whole network"
    count = leading(circles, off)
    kept = f"Keep the first {count} of {len(circles)} circles, in the order listed"
    if set(circles[count:]) - set(off):
        kept = f"Keep the first of {len(circles)} circles, in the order listed"
        kept += " (now chosen one by one)"
    right = "The logit of the right answer for every pair"
    return Logits(
        figure=dressed(draw(logit_panel(answer.logits, order))),
        accuracy=f"Accuracy {floored(answer.accuracy)}{without}.",
        order=f"{right}; rows and columns in {order_name}.",
        kept=kept,
    )


def _group_logits(specimen: Specimen, off: Sequence[int]) -> Logits:
    """Mean logits with these representations off, in the order of the whole network's cosets."""
    members = representations(specimen.group)
    switchable = frequencies(specimen)
    names = [members[number].name for number in off if number in switchable]
    if REST in off:
        names.append("the rest of the tables")
    without = f" without {', '.join(names)}" if names else ", whole network"
    means = means_without(specimen, off)
    axes = AXES[means.side]
    count = leading(switchable, off)
    kept = f"Keep the first {count} of {len(switchable)} representations, in the order listed"
    return Logits(
        figure=dressed(draw(coset_map(Part("", "", means)))),
        accuracy=f"Accuracy {floored(means.accuracy)}{without}.",
        order=f"Mean logits by {axes.row}, rows, and {axes.column}, columns; {order_words(means)}.",
        kept=kept,
    )


def leading(circles: Sequence[int], off: Sequence[int]) -> int:
    """How many circles are on before the first that is off."""
    for number, frequency in enumerate(circles):
        if frequency in off:
            return number
    return len(circles)
