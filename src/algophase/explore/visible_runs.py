"""The runs of a table as a view shows them: by which columns, which runs are on the map, and which
lie in its region.
"""

import functools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from algophase.analysis.catalogue import SYMMETRICITY, catalogue, metrics
from algophase.core.errors import InputError
from algophase.core.palette import in_order
from algophase.core.settings import RANGES
from algophase.explore.view import Point, View
from algophase.runs.columns import FLAGS, NOTHING, NUMBERS, TEXT, Rows, kind_of
from algophase.runs.overview import describe_outcomes, describe_space, outcomes, verdict_column
from algophase.runs.read_runs import read_usable_shards
from algophase.runs.runs import Runs
from algophase.runs.selection import Condition
from algophase.runs.statistics import Floats, Share
from algophase.storage.runs_table import refuse_moments, shard_paths
from algophase.storage.sweep_directory import SweepDirectory

VERDICT, PAPER_LABEL = "verdict", "paper_label"
KEPT = "weights_kept"  # whether a run's network lies in the sweep's directory
# Which run it is rather than what it is
KEYS = ("index", "run_id", "space", "seed", "weights_digest")
X = ("attention_rate", "width", SYMMETRICITY)
MOST_COLORS = 10  # different texts that still make a legend
LOWEST = -1e300  # in place of -inf: a corner at 0 of a region on a log axis
# A positive column whose 5% and 95% quantiles differ by this factor gets a log axis.
MANY_TIMES = 30


@dataclass(frozen=True, eq=False)
class PageData:
    """What a page is about: a table of runs, or networks as one.

    runs: every row; `verdict` is filled in for each run.
    about: the table in words. problems: what could not be read, in lines.
    read_row: brings every column of one run; without it, those of the table.
    """

    runs: Runs
    about: Sequence[str] = ()
    problems: Sequence[str] = ()
    read_row: Callable[[int], dict[str, Any]] | None = None

    @functools.lru_cache(maxsize=8)  # noqa: B019  (it lives as long as the page)
    def row(self, number: int) -> dict[str, Any]:
        """Every column of one run, lists too. An InputError where its file is not what it was."""
        return self.runs.columns.row(number) if self.read_row is None else self.read_row(number)


def open_sweep(path: Path) -> PageData:
    """A sweep's directory or a Parquet file. An unreadable shard adds a line to `problems`; the
    others are still shown.
    """
    problems = list[str]()
    if not shard_paths(path):
        raise InputError(f"{path} holds no runs: there is no Parquet file in it")
    frame, calls, shard_rows = read_usable_shards(path, problems, only_single=True)
    name = path.resolve().name
    if shard_rows is None:
        return PageData(Runs(name, frame, 0), problems=problems)
    refuse_moments(frame.columns, path)
    if "run_id" in frame and kind_of("run_id", frame["run_id"]) != TEXT:
        frame = frame.drop(columns="run_id")
    if "run_id" not in frame:
        problems.append("the table has no column of run ids: its networks cannot be shown")
    about = list[str]()
    kept = set[str]()
    directory = SweepDirectory(path) if path.is_dir() else None
    if directory is None:
        about += describe_outcomes(frame)
    elif directory.exists:
        try:
            if "index" in frame and kind_of("index", frame["index"]) == NUMBERS:
                indices = frame["index"].tolist()
                about += describe_space(directory.description(), indices, calls)
            about += describe_outcomes(frame)
        except InputError as error:
            problems.append(str(error))
        except (TypeError, ValueError, KeyError, AttributeError):
            problems.append(f"{path / 'sweep.json'} does not describe these runs")
        kept = directory.kept()
    return PageData(
        with_outcomes(Runs(name, frame, len(frame)), kept), about, problems, shard_rows.read
    )


def with_outcomes(runs: Runs, kept: Collection[str] = ()) -> Runs:
    """Runs with what became of each in `verdict` and `paper_label`. kept: the ids of those whose
    weights there are.

    An older table has the paper's labels alone: they stand in the verdicts' place, and
    `verdict_name` says so.
    """
    frame = runs.frame.copy(deep=False)
    column = verdict_column(frame)
    if column == VERDICT and PAPER_LABEL in frame:
        frame[PAPER_LABEL] = outcomes(frame, PAPER_LABEL)
    frame[VERDICT] = outcomes(frame, column)
    if kept and "run_id" in frame:
        frame[KEPT] = frame["run_id"].isin(kept)
    name = "verdict" if column == VERDICT else "paper's label"
    return replace(runs, frame=frame, verdict_name=name)


@functools.lru_cache(maxsize=2)
def axes(runs: Runs) -> list[str]:
    """Columns to draw along: numbers that differ between runs, or all numbers where none do."""
    numeric = [name for name, kind in runs.columns.kinds.items() if kind in (NUMBERS, FLAGS)]
    varied = [name for name in numeric if name in runs.columns.varying]
    return varied or numeric


@functools.lru_cache(maxsize=2)
def colors(runs: Runs) -> list[str]:
    """Columns to color by: the verdict, the paper's label, numbers, and texts of a few values."""
    verdicts = [name for name in (VERDICT, PAPER_LABEL) if name in runs]
    texts = []
    for name, kind in runs.columns.kinds.items():
        if kind != TEXT or name not in runs.columns.varying or name in (*KEYS, *verdicts):
            continue
        codes, names = runs.columns.codes(name)
        if len(names) + bool((codes < 0).any()) <= MOST_COLORS:
            texts.append(name)
    return [*verdicts, *texts, *axes(runs)]


@functools.lru_cache(maxsize=2)
def filterable(runs: Runs) -> list[str]:
    """Columns to filter by, those that differ between runs first."""
    kinds = runs.columns.kinds
    names = [name for name in kinds if kinds[name] != NOTHING and name.isprintable()]
    return sorted(names, key=lambda name: name not in runs.columns.varying)


class VisibleRuns:
    """The runs that a view shows. view: the one asked for, but naming only columns of the table,
    with a problem more for each name that was dropped.
    """

    def __init__(self, runs: Runs, view: View) -> None:
        self.runs = runs
        self.view = resolve(runs, view)

    @functools.cached_property
    def matching(self) -> Rows:
        """Runs that meet every filter."""
        return self.runs.select(self.view.filters)

    @functools.cached_property
    def drawn(self) -> Rows:
        """Those that have both coordinates of the map."""
        if not self.view.x or not self.view.y:
            return self.matching[:0]
        x, y = self._coordinates(self.matching)
        return self.matching[numpy.isfinite(x) & numpy.isfinite(y)]

    @functools.cached_property
    def brushed(self) -> Rows:
        """Those that lie in the region; all that are drawn where there is none."""
        if not self.view.region:
            return self.drawn
        # A lasso is drawn on the screen: between its corners it is straight on the axes, not in the
        # numbers.
        corners = numpy.array(self.view.region, dtype=numpy.float64)
        across = along_axis(corners[:, 0], self.view.x_scale).clip(min=LOWEST).tolist()
        up = along_axis(corners[:, 1], self.view.y_scale).clip(min=LOWEST).tolist()
        region = list(zip(across, up, strict=True))
        x, y = self._coordinates(self.drawn)
        return self.drawn[inside(region, x, y)]

    @property
    def chosen(self) -> Rows:
        """Those of the region, or where there is none all that meet the filters, drawn or not."""
        return self.brushed if self.view.region else self.matching

    def _coordinates(self, rows: Rows) -> tuple[Floats, Floats]:
        """Where runs are on the map; on a log axis by their logarithm, which only a positive
        number has.
        """
        x = along_axis(self.runs.columns.finite(self.view.x)[rows], self.view.x_scale)
        y = along_axis(self.runs.columns.finite(self.view.y)[rows], self.view.y_scale)
        return x, y


def resolve(runs: Runs, view: View) -> View:
    """A view that names only columns of these runs, with a problem more for each name that was
    dropped.
    """
    problems = list(view.problems)
    filters = list[Condition]()
    for condition in view.filters:
        try:
            runs.select([condition])
        except InputError as error:
            problems.append(f"{error}; this filter is left out")
        else:
            filters.append(condition)
    along = axes(runs)
    by_color = colors(runs)
    for name, columns in (("x", along), ("y", along), ("color", by_color)):
        column = getattr(view, name)
        if column and column not in columns:
            problems.append(f"{name} is {column!r}, which this table cannot be drawn by")
    x = view.x if view.x in along else _usual(runs, X, along)
    y = view.y if view.y in along else _usual(runs, wanted_heights(), along, x)
    color = view.color if view.color in by_color else _usual(runs, [VERDICT], by_color)
    return replace(
        view,
        filters=tuple(filters),
        x=x,
        y=y,
        color=color,
        x_scale=view.x_scale or usual_scale(runs, x),
        y_scale=view.y_scale or usual_scale(runs, y),
        problems=tuple(problems),
    )


def wanted_heights() -> list[str]:
    """Default vertical axes, best first: metrics for which the paper draws a line between the
    phases, then the others; on groups that are not cyclic, the share of characters.
    """
    quantities = [item for item in metrics() if item.shown and not item.percent]
    quantities.sort(key=lambda quantity: quantity.line is None)
    names = [quantity.name for quantity in quantities]
    return [*names, "on_group.shares.characters", "additivity", "validation_accuracy"]


def _usual(runs: Runs, best: Sequence[str], allowed: Sequence[str], taken: str = "") -> str:
    """The column that the page chooses by itself, "" where there is none.

    best: what it would choose, the best first. taken: chosen for the other axis already; it is
        chosen again only where there is no other.
    """
    columns = [column for column in best if column in allowed]
    # What most runs have comes before what few have: networks of a directory differ in their
    # settings.
    columns.sort(key=lambda column: 2 * runs[column].isna().sum() > len(runs))
    columns += allowed
    free = [column for column in columns if column != taken]
    return next(iter(free or columns), "")


@functools.lru_cache(maxsize=64)
def usual_scale(runs: Runs, column: str) -> str:
    """The scale of an axis for which none was chosen: "log" for what grows without an end, over
    many orders.
    """
    if column not in runs or has_upper_end(column):
        return "linear"
    values = runs.columns.finite(column)
    values = values[~numpy.isnan(values)]
    if not len(values) or values.min() <= 0:
        return "linear"
    low, high = numpy.quantile(values, (0.05, 0.95)).tolist()
    return "log" if high >= MANY_TIMES * low else "linear"


def has_upper_end(column: str) -> bool:
    """Whether a quantity or a setting has a largest value, as a rate or a share has."""
    if column in catalogue():
        high = catalogue()[column].high
        return high is not None
    return column in RANGES and math.isfinite(RANGES[column].high)


def along_axis(values: Floats, scale: str) -> Floats:
    """Values, or their logarithms on a log axis; -inf for 0 and below, which lie beyond its end."""
    if scale != "log":
        return values
    logarithms = numpy.full(len(values), -numpy.inf)
    numpy.log10(values, out=logarithms, where=values > 0)
    return logarithms


def inside(region: Sequence[Point], x: Floats, y: Floats) -> NDArray[numpy.bool_]:
    """Which points lie in a box (two corners) or a polygon (more), by the even-odd rule."""
    if len(region) == 2:
        (x0, y0), (x1, y1) = region
        across = (x >= min(x0, x1)) & (x <= max(x0, x1))
        return across & (y >= min(y0, y1)) & (y <= max(y0, y1))
    is_inside = numpy.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(region, [*region[1:], region[0]], strict=True):
        if y0 != y1:
            # A ray to the right of a point crosses the boundary an odd number of times.
            crosses = (y0 > y) != (y1 > y)
            x_of_edge = x0 + (y - y0) * ((x1 - x0) / (y1 - y0))
            is_inside ^= crosses & (x < x_of_edge)
    return is_inside


def verdict_shares(runs: Runs, rows: Rows) -> list[tuple[str, Share]]:
    """Runs by verdict, those of this package first, in their order."""
    members = runs.columns.by_text(VERDICT, rows)
    return [(name, Share(len(members[name]), len(rows))) for name in in_order(members)]


def medians(
    runs: Runs, rows: Rows, columns: Sequence[str] = ()
) -> list[tuple[str, float, float, float, int]]:
    """Column, median, quartiles and how many runs have a value. columns: those to list first."""
    quantities = [quantity.name for quantity in metrics() if quantity.shown]
    listed_columns = [*columns, *X, *quantities, "validation_accuracy", "parameter_norm"]
    lines = []
    for column in dict.fromkeys(listed_columns):
        if column not in axes(runs):
            continue
        values = runs.columns.finite(column)[rows]
        values = values[~numpy.isnan(values)]
        if len(values):
            low, median, high = numpy.quantile(values, (0.25, 0.5, 0.75)).tolist()
            lines.append((column, median, low, high, len(values)))
    return lines
