"""The section of a page on a sweep: its contents, phase diagrams, transitions, histograms, a
comparison, its origin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.analysis.catalogue import (
    BARE,
    IRRELEVANCE,
    SYMMETRICITY,
    label,
    quantity,
    value_text,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.palette import in_order
from algophase.core.wording import counted
from algophase.pages.table import Table
from algophase.pictures.marks import Panel
from algophase.reports.by_setting import panel_by_rate, panels_by_setting
from algophase.reports.moments_section import add_moments, followed_metrics
from algophase.reports.page import Page, listed, paragraph, text
from algophase.reports.phase_diagrams import (
    compared_shares,
    compared_transition,
    histogram,
    metric_plane,
    rate_by_width,
    shares_panel,
    transition,
)
from algophase.runs.boundary import Boundary
from algophase.runs.comparison import Comparison, compare
from algophase.runs.overview import describe_origin, describe_space
from algophase.runs.pictures import rate_by_metric
from algophase.runs.runs import CIRCULAR_RUNS, METRICS, MOST_GROUPS, VERDICTS, Runs
from algophase.runs.statistics import Share
from algophase.storage.runs_table import OpenTable, refuse_moments, to_pandas
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    import pandas

FEWEST = 20  # runs for a transition to be fitted
FEWEST_RATES = 5  # and different rates: between three there is no telling where it lies
DIAGRAMS = (SYMMETRICITY, IRRELEVANCE)  # the paper's two metrics, whose phases it maps
GROUP_DIAGRAMS = ("on_group.shares.characters", "additivity")  # on groups that are not cyclic
ORIGIN = ("shard", "runs", "date", "device", "version", "commit", "torch", "command")
MOST_CALLS = 200
MOST_COMPARED = 4
MOST_KEPT = 60  # networks named
KEPT_COLUMNS = ("index", "run_id", "attention_rate", "width", "verdict")
IN_SHORT = {
    "Clock": "multiplies to add the angles of its inputs",
    "Pizza": "averages its inputs and reads the sum off their middle",
    "adding": "on a group: hidden units read sums, as a Pizza's do",
    "multiplying": "on a group: hidden units read products, as a Clock's do",
    "hybrid": "both contribute to its answers",
    "non-circular": "answers every pair, but its embedding is not circular",
    "other": "answers every pair, with no algorithm that we recognize",
    "lookup": "answers every pair, as a lookup table does",
    "not learned": "does not answer every pair right",
    "diverged": "the training loss became NaN or infinite",
    "not analyzed": "no analysis was possible",
}


@dataclass(frozen=True)
class Sweep:
    """A sweep read from disk: the rows of its table, the runs that count, and what its files say
    about it.
    """

    path: Path
    table: Runs
    population: Runs
    description: Mapping[str, Any] | None
    calls: tuple[Mapping[str, Any], ...]
    moments: Runs | None = None

    @property
    def title(self) -> str:
        space = self.description["space"] if self.description else {}
        return str(space.get("name") or self.population.name)


def read_sweep(path: Path) -> Sweep:
    """A sweep's directory, or a Parquet file of runs without one."""
    table_file = OpenTable(path)
    refuse_moments(table_file.column_names, path)
    frame = to_pandas(table_file.read(), path)
    name = path.resolve().name
    table = Runs(name, frame, len(frame))
    description = None
    calls = list[Mapping[str, Any]]()
    moments = None
    if path.is_dir():
        directory = SweepDirectory(path)
        description = directory.description() if directory.exists else None
        calls = [record for record in table_file.calls() if isinstance(record, Mapping)]
        followed = directory.moments()
        if followed is not None:
            moments = Runs(name, followed.to_pandas(), followed.num_rows)
    population = Runs.of(frame, name).drawable()
    return Sweep(path, table, population, description, tuple(calls), moments)


def add_sweep(
    page: Page, sweep: Sweep, released: "pandas.DataFrame | None" = None, anchor: str = ""
) -> None:
    page.heading(2, f"Sweep {sweep.title}", anchor)
    _add_overview(page, sweep)
    groups = list[Runs]()
    without = list[str]()  # without an accurate run: the group's label
    for group in sweep.population.groups():
        if len(group.accurate):
            groups.append(group)
        else:
            without.append(group.label)
    for group in groups[:MOST_GROUPS]:
        _add_group(page, group)
    if without:
        which = f" of {'; '.join(without)}" if any(without) else ""
        none = f"No run{which} reached full accuracy: there is no phase diagram to draw."
        page.add(paragraph(none))
    if len(groups) > MOST_GROUPS:
        smaller = len(groups) - MOST_GROUPS
        page.add(paragraph(f"{smaller} smaller groups of settings are not drawn.", "note"))
    if sweep.moments is not None:
        add_moments(page, sweep.moments)
    if released is not None:
        _add_comparison(page, sweep, released)
    _add_kept(page, sweep)
    _add_origin(page, sweep)


def _add_overview(page: Page, sweep: Sweep) -> None:
    population = sweep.population
    lines = list[str]()
    indices = sweep.table["index"].tolist() if "index" in sweep.table else []
    are_indices = bool(indices) and all(isinstance(index, int) for index in indices)
    if sweep.description is not None and are_indices:
        lines += describe_space(sweep.description, indices, sweep.calls)
    else:
        lines.append(f"{population.rows:,} runs of {population.name}")
    lines += [f"{count:,} left out: {reason}" for count, reason in population.left_out]
    page.add(listed(lines))
    verdicts = population["_verdict"]
    shares = {verdict: population.share(verdicts == verdict) for verdict in in_order(verdicts)}
    page.heading(3, "Shares")
    caption = "verdicts, as shares of all runs, with 95% intervals"
    spoken = "; ".join(f"{name} {share.value:.1%}" for name, share in shares.items())
    panels = [panel_by_rate(population)] if population.rates_vary else []
    panels.append(shares_panel(shares, caption, f"Shares of the verdicts: {spoken}."))
    page.pictures([*panels, *panels_by_setting(population)], "wide")
    rows = [[name, str(share), IN_SHORT.get(name, "")] for name, share in shares.items()]
    accurate = "answers every pair that was held back from training"
    rows.append(["at full accuracy", str(population.accuracy_share), accurate])
    if population.core_name == CIRCULAR_RUNS:
        circular = f"circularity from {Thresholds().circularity:g}"
        share = str(population.circular_share_of_accurate)
        rows.append(["circular, of those at full accuracy", share, circular])
    head = [population.verdict_name, "share, with 95% Wilson interval", "what it says"]
    page.add(Table(head, rows).html("Shares of the verdicts"))


def _holds(runs: Runs, column: str) -> bool:
    """Whether some of the runs have a value in this column."""
    return column in runs and bool(runs[column].notna().any())


def _boundaries(group: Runs) -> dict[str, Boundary]:
    core = group.core
    if len(core) < FEWEST or core["_rate"].nunique() < FEWEST_RATES:
        return {}
    boundaries = {}
    for measure in METRICS:
        # Symmetricity without an equals sign is kept for the comparison with the released table
        # alone.
        if measure != BARE and _holds(core, measure):
            by_width = group.continuous_width
            boundaries[measure] = core.boundary(measure, by_width=by_width)
    return boundaries


def _add_group(page: Page, group: Runs) -> None:
    of = f" ({group.label})" if group.label else ""
    page.heading(3, f"Phase diagrams{of}")
    boundaries = _boundaries(group)
    panels = list[Panel]()
    metrics = [name for name in DIAGRAMS if _holds(group.accurate, name)]
    on_groups = [name for name in GROUP_DIAGRAMS if _holds(group.accurate, name)]
    paper_line = "; dotted: the paper's line"
    if not metrics and len(on_groups) == len(GROUP_DIAGRAMS):
        metrics, paper_line = on_groups, ""
    accurate = f"{counted(len(group.accurate), 'run')} at full accuracy"
    drawn = f"{accurate}, colored by {group.verdict_name}"
    if group.rates_vary:
        if group.continuous_width:
            runs = f"{len(group.core):,} {group.core_name}"
            alt = f"Attention rate against width for {runs}, colored by verdict."
            caption = f"{group.core_name} by rate and width, with the transition lines"
            panels.append(rate_by_width(group, boundaries, caption, alt))
        for metric in metrics:
            boundary = None if group.continuous_width else boundaries.get(metric)
            alt = f"{label(metric)} against the attention rate, {drawn}."
            caption = f"{label(metric)}, {drawn}{paper_line}"
            if boundary is not None and boundary.within:
                caption += "; gray: the transition with its 95% interval"
            panel = rate_by_metric(group.accurate.frame, metric, boundary, caption=caption, alt=alt)
            panels.append(panel)
    if len(metrics) == 2:
        both = f"{label(metrics[1])} against {label(metrics[0])}, {drawn}"
        caption = f"{both}{paper_line and paper_line + 's'}"
        panels.append(metric_plane(group, metrics[0], metrics[1], caption, f"{both}."))
    if not panels:
        page.add(
            paragraph(
                "No phase diagram: the attention rate does not vary, or the table has no metrics."
            )
        )
    page.pictures(panels, "wide")
    if boundaries:
        _add_transitions(page, group, boundaries, of)
    _add_histograms(page, group, of)


def _add_transitions(page: Page, group: Runs, boundaries: Mapping[str, Boundary], of: str) -> None:
    page.heading(3, f"Transitions{of}")
    at = " (at the middle width)" if group.continuous_width else ""
    page.add(
        paragraph(
            f"The rate at which a logistic fit has half of the {group.core_name} inside a "
            f"phase{at}, with 95% bootstrap intervals. In the pictures, each point stands for the "
            "runs in one tenth of the rate, with its 95% interval; the curve is the logistic fit "
            "with its bootstrap band. Of a verdict, half of all accurate runs have it there."
        )
    )
    head = ["phase", "transition at rate", "inside"]
    if group.continuous_width:
        head.insert(2, "change per doubling of the width")
    rows = []
    panels = []
    for measure, boundary in boundaries.items():
        phase = quantity(measure).phase
        row = [phase, str(boundary), str(Share(boundary.inside, boundary.runs))]
        if group.continuous_width:
            row.insert(2, "-" if boundary.slope is None else str(boundary.slope))
        rows.append(row)
        sides = [(group.name, group.core, boundary)]
        alt = f"Share of runs with {phase} by tenth of the attention rate; transition: {boundary}."
        caption = f"share of the {group.core_name} with {phase}"
        panels.append(transition(sides, measure, caption, alt))
    for verdict, boundary in _verdict_boundaries(group).items():
        row = [f"verdict {verdict}", str(boundary), str(Share(boundary.inside, boundary.runs))]
        if group.continuous_width:
            row.insert(2, "-" if boundary.slope is None else str(boundary.slope))
        rows.append(row)
    page.add(Table(head, rows).html("Phase transitions"))
    page.pictures(panels)


def _verdict_boundaries(group: Runs) -> dict[str, Boundary]:
    """Where half of the accurate runs are Pizzas, and where half are Clocks."""
    if not _holds(group, "verdict"):
        return {}
    boundaries = {}
    for verdict in VERDICTS:
        boundary = group.accurate.boundary(verdict, by_width=group.continuous_width)
        if boundary.within:
            boundaries[verdict] = boundary
    return boundaries


def _add_histograms(page: Page, group: Runs, of: str) -> None:
    runs = group.accurate
    panels = []
    for metric in (*followed_metrics()[1:], "parameter_norm"):
        if _holds(runs, metric):
            measured = runs.where(runs[metric].notna())
            verdicts = measured["_verdict"].tolist()
            caption = f"{label(metric)} of {counted(len(measured), 'run')} at full accuracy"
            median = value_text(metric, float(measured[metric].median()))
            panel = histogram(
                measured.values(metric),
                verdicts,
                label(metric),
                height=300,
                caption=caption,
                alt=f"Histogram: {caption}, median {median}.",
            )
            panels.append(panel)
    if panels:
        page.heading(3, f"Histograms{of}")
        page.pictures(panels, "wide")


def _add_comparison(page: Page, sweep: Sweep, released: "pandas.DataFrame") -> None:
    page.heading(3, "Against the released runs")
    try:
        names = (sweep.population.name, "released")
        comparison = compare(sweep.table, released, names, same_settings=True)
    except InputError as error:
        page.add(paragraph(f"The released runs cannot be compared: {error}"))
        return
    verdict, _, rest = str(comparison).partition("\n")
    page.add(f'<div class="verdict"><strong>{text(verdict, 5000)}</strong></div>')
    page.add(
        paragraph(
            f"All {len(comparison.findings)} tests are corrected together: two equal populations "
            f"are called different in at most {comparison.level:.3g} of all comparisons.",
            "note",
        )
    )
    page.pictures(_compared(comparison), "wide")
    tests = f"<pre tabindex=0>{text(rest.strip(), 100_000)}</pre>"
    page.add(f"<details><summary>All tests</summary>{tests}</details>")


def _compared(comparison: Comparison) -> list[Panel]:
    panels = []
    for group in comparison.groups[:MOST_COMPARED]:
        for row in comparison.boundaries:
            if row.group == group.label and None not in row.sides:
                pairs = zip(comparison.sides, row.sides, strict=True)
                sides = ", ".join(f"{side.name} {boundary}" for side, boundary in pairs)
                settings = f", {group.label}" if group.label else ""
                caption = f"{row.phase}{settings}: {sides}"
                alt = f"Both populations by rate: {caption}."
                panels.append(compared_transition(comparison, group, row, caption, alt))
    panels.append(compared_shares(comparison, comparison.groups))
    return panels


def _add_kept(page: Page, sweep: Sweep) -> None:
    """The runs whose weights were kept, and the commands that open them, or train any other
    again.
    """
    if not sweep.path.is_dir() or sweep.description is None:
        return
    directory = SweepDirectory(sweep.path)
    files = directory.kept_files()
    runs = sweep.table.frame
    retrain = f"algophase retrain {sweep.path} INDEX --out networks/"
    page.heading(3, "Networks of these runs")
    kept = runs.iloc[:0]
    if files and "run_id" in runs:
        kept = runs[runs["run_id"].isin(files)]
    if kept.empty:
        page.add(paragraph("The weights of these runs were not kept. To retrain a run:"))
        page.add(f"<pre tabindex=0>{text(retrain)}</pre>")
        return
    verdicts = dict(zip(sweep.population["run_id"], sweep.population["_verdict"], strict=True))
    kept = kept.assign(verdict=kept["run_id"].map(verdicts))
    count = f"The weights of {len(kept):,} of these runs were kept"
    page.add(paragraph(f"{count}. To report on one, and to retrain any other run:"))
    example = files[kept["run_id"].iloc[0]]
    report = f"algophase report {example} -o network.html"
    page.add(f"<pre tabindex=0>{text(report)}\n{text(retrain)}</pre>")
    columns = [name for name in KEPT_COLUMNS if name in kept]
    if "width" in columns and kept["width"].nunique() <= 1:
        columns.remove("width")
    rows = []
    for row in kept[columns].head(MOST_KEPT).itertuples(index=False):
        named_values = zip(columns, row, strict=True)
        rows.append([value_text(name, value) for name, value in named_values])
    head = ["run" if name == "run_id" else label(name) for name in columns]
    numbers = tuple(columns.index(name) for name in columns if name not in ("run_id", "verdict"))
    page.add(Table(head, rows, numbers).html("Runs whose networks were kept"))
    if len(kept) > MOST_KEPT:
        page.add(paragraph(f"{len(kept) - MOST_KEPT:,} more are in {sweep.path}.", "note"))


def _add_origin(page: Page, sweep: Sweep) -> None:
    calls: Sequence[Mapping[str, Any]] = sweep.calls
    if not calls:
        return
    page.heading(3, "Where the runs come from")
    page.add(listed(describe_origin(calls)))
    columns = [name for name in ORIGIN if any(record.get(name) is not None for record in calls)]
    rows = []
    for record in calls[:MOST_CALLS]:
        values = [record.get(name) for name in columns]
        rows.append(["" if value is None else str(value) for value in values])
    numbers = [column for column, name in enumerate(columns) if name == "runs"]
    table = Table(columns, rows, numbers).html("Calls of sweep")
    page.add(f"<details><summary>All calls of <code>sweep</code></summary>{table}</details>")
