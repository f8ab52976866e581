"""A sweep's table as the page needs it: columns to filter and draw by, regions, statistics, single
rows.

Columns with one value per run are kept as arrays. Lists, such as a run's circles, take most of a
table's memory and are
needed for one run at a time: they stay in the shards until a run is opened.
"""

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from algophase.analysis.catalogue import SYMMETRICITY, catalogue, metrics
from algophase.analysis.verdict.decide import in_order
from algophase.core.errors import InputError
from algophase.core.settings import RANGES
from algophase.explore.view import RUN_ID, Point, View
from algophase.reports.plotly_style import inert_text
from algophase.runs.columns import Column, column_of, text_column
from algophase.runs.overview import NEEDED, describe_outcomes, describe_space, setting_names
from algophase.runs.selection import Condition, check_columns
from algophase.runs.statistics import Floats, Share
from algophase.storage.runs_table import (
    each_once,
    join_tables,
    origin,
    read_row,
    read_shards,
    refuse_moments,
    shard_paths,
)
from algophase.storage.sweep_directory import SweepDirectory, sittings_of

if TYPE_CHECKING:
    import pyarrow

Rows = NDArray[numpy.int64]  # numbers of rows, from 0
VERDICT, PAPER_LABEL = "verdict", "paper_label"
KEPT = "weights_kept"  # whether a run's network lies in the sweep's directory
KEYS = (
    "index",
    "run_id",
    "space",
    "seed",
    "weights_digest",
)  # which run it is rather than what it is
X = ("attention_rate", "width", SYMMETRICITY)
MOST_COLORS = 10  # different texts that still make a legend
LOWEST = -1e300  # in place of -inf: a corner at 0 of a region on a log axis
ROW = "row of all shards"  # a column for the time of joining them
# A positive column whose 5% and 95% quantiles differ by this factor gets a log axis.
MANY_TIMES = 30


def wanted_heights() -> list[str]:
    """Default vertical axes, best first: metrics for which the paper draws a line between the
    phases, then the others.
    """
    quantities = [item for item in metrics() if item.shown and not item.percent]
    quantities.sort(key=lambda quantity: quantity.line is None)
    return [*(quantity.name for quantity in quantities), "validation_accuracy"]


def wanted_medians() -> list[str]:
    """The columns whose medians a region's statistics list."""
    quantities = [quantity.name for quantity in metrics() if quantity.shown]
    return [*X, *quantities, "validation_accuracy", "parameter_norm"]


class RunTable:
    """Runs as a page shows them.

    columns: with one value per run, or lists, of which only a run's own row is asked for. `verdict`
        is filled in for every run.
    problems: what could not be read, in lines. about: the table in words. kept: runs whose weights
        there are.
    read_row: every column of one run; by default from `columns`. named_by: the column with what a
        run is called.
    """

    def __init__(
        self,
        columns: "Mapping[str, Sequence[Any] | pyarrow.ChunkedArray]",
        name: str,
        problems: Sequence[str] = (),
        about: Sequence[str] = (),
        kept: Collection[str] = (),
        read_row: Callable[[int], dict[str, Any]] | None = None,
        named_by: str = "run_id",
    ) -> None:
        self.name, self.problems, self.about = name, list(problems), list(about)
        self.named_by = named_by
        self.count = len(next(iter(columns.values()), []))
        self.columns: dict[str, Column] = {}
        for column_name, values in columns.items():
            column = column_of(values)
            if column is not None:
                self.columns[column_name] = column
        # An older table has the paper's labels alone: they stand in the verdicts' place, and
        # `verdict_name` says so.
        has_verdicts = _has_verdicts(self.columns)
        self.verdict_name = "verdict" if has_verdicts else "paper's label"
        diverged = self.columns.get("diverged_at")
        verdicts = self.columns.get(VERDICT if has_verdicts else PAPER_LABEL)
        self.columns[VERDICT] = _outcomes(verdicts, diverged, self.count)
        if has_verdicts and PAPER_LABEL in self.columns:
            self.columns[PAPER_LABEL] = _outcomes(self.columns[PAPER_LABEL], diverged, self.count)
        self.rows_by_id = _rows_by_id(self.columns.get("run_id"))
        if kept:
            rows = [self.rows_by_id[run_id] for run_id in kept if run_id in self.rows_by_id]
            has_weights = numpy.zeros(self.count, dtype=bool)
            has_weights[rows] = True
            none_missing = numpy.zeros(self.count, dtype=bool)
            self.columns[KEPT] = Column("true and false", has_weights, none_missing)
        self._read_row = read_row or functools.partial(_row_of, columns)

    @functools.lru_cache(maxsize=8)  # noqa: B019  (a table lives as long as the page)
    def row(self, row: int) -> dict[str, Any]:
        """Every column of one run, as its shard has it. An InputError where the shard is not
        what it was.
        """
        return self._read_row(row)

    def single_values(self, row: int) -> dict[str, Any]:
        """What is known of a run without its shard."""
        return {name: column[row] for name, column in self.columns.items()}

    def run_id(self, row: int) -> str:
        return str(self.columns["run_id"][row]) if "run_id" in self.columns else ""

    def run_name(self, row: int) -> str:
        """What a run is called: its id, or the file it was read from."""
        name = self.columns[self.named_by][row] if self.named_by in self.columns else None
        return self.run_id(row) if name is None else str(name)

    @property
    def noun(self) -> str:
        """What a row is."""
        return "run" if self.named_by == "run_id" else "network"

    @functools.cached_property
    def inert_ids(self) -> NDArray[numpy.object_]:
        """The ids of all runs as texts that a picture may show."""
        ids = [self.run_id(row) for row in range(self.count)]
        inert = [run_id if RUN_ID.fullmatch(run_id) else inert_text(run_id) for run_id in ids]
        return numpy.array(inert, dtype=object)

    @functools.cached_property
    def inert_names(self) -> NDArray[numpy.object_] | None:
        """The same for their names, where those are not their ids."""
        if self.named_by == "run_id":
            return None
        inert = [inert_text(self.run_name(row)) for row in range(self.count)]
        return numpy.array(inert, dtype=object)

    def kind(self, column: str) -> str:
        return self.columns[column].kind

    def numbers(self, column: str) -> Floats:
        """A column as float64, NaN for what is missing or infinite; true and false are 1 and 0."""
        return self.columns[column].numbers

    @functools.cached_property
    def axes(self) -> list[str]:
        """Columns to draw along: numbers that differ between runs, or all numbers where none do."""
        kinds = ("numbers", "true and false")
        numeric = [name for name, column in self.columns.items() if column.kind in kinds]
        varied = [name for name in numeric if self.columns[name].varies]
        return varied or numeric

    @functools.cached_property
    def colors(self) -> list[str]:
        """Columns to color by: the verdict, the paper's label, numbers, and texts of a few
        values.
        """
        verdicts = [name for name in (VERDICT, PAPER_LABEL) if name in self.columns]
        texts = []
        for name, column in self.columns.items():
            few = column.kind == "text" and len(column.texts) + column.missing.any() <= MOST_COLORS
            if few and column.varies and name not in (*KEYS, *verdicts):
                texts.append(name)
        return [*verdicts, *texts, *self.axes]

    @functools.cached_property
    def filterable(self) -> list[str]:
        """Columns to filter by, those that differ between runs first."""
        names = []
        for name, column in self.columns.items():
            if column.kind != "nothing" and name.isprintable():
                names.append(name)
        return sorted(names, key=lambda name: not self.columns[name].varies)

    @functools.cached_property
    def settings(self) -> list[str]:
        return [name for name in setting_names() if name in self.columns]

    def resolve(self, view: View) -> View:
        """A view that names only columns of this table, with a problem more for each name that
        was dropped.
        """
        problems, filters = list(view.problems), list[Condition]()
        for condition in view.filters:
            try:
                self._met(condition)
            except InputError as error:
                problems.append(f"{error}; this filter is left out")
            else:
                filters.append(condition)
        for name, columns in (("x", self.axes), ("y", self.axes), ("color", self.colors)):
            column = getattr(view, name)
            if column and column not in columns:
                problems.append(f"{name} is {column!r}, which this table cannot be drawn by")
        x = view.x if view.x in self.axes else self._usual(X, self.axes)
        y = view.y if view.y in self.axes else self._usual(wanted_heights(), self.axes, x)
        color = view.color if view.color in self.colors else self._usual([VERDICT], self.colors)
        return replace(
            view,
            filters=tuple(filters),
            x=x,
            y=y,
            color=color,
            x_scale=view.x_scale or self.usual_scale(x),
            y_scale=view.y_scale or self.usual_scale(y),
            problems=tuple(problems),
        )

    def _usual(self, best: Sequence[str], allowed: Sequence[str], taken: str = "") -> str:
        """The column that the page chooses by itself, "" where there is none.

        best: what it would choose, the best first. taken: chosen for the other axis already; it
            is chosen again only where there is no other.
        """
        columns = [column for column in best if column in allowed]
        # What most runs have comes before what few have: networks of a directory differ in their
        # settings.
        columns.sort(key=lambda column: 2 * self.columns[column].missing.sum() > self.count)
        columns += allowed
        free = [column for column in columns if column != taken]
        return next(iter(free or columns), "")

    @functools.lru_cache(maxsize=256)  # noqa: B019  (a table lives as long as the page)
    def usual_scale(self, column: str) -> str:
        """The scale of an axis for which none was chosen: "log" for what grows without an end,
        over many orders.
        """
        if column not in self.columns or has_upper_end(column):
            return "linear"
        values = self.numbers(column)
        values = values[~numpy.isnan(values)]
        if not len(values) or values.min() <= 0:
            return "linear"
        low, high = numpy.quantile(values, (0.05, 0.95)).tolist()
        return "log" if high >= MANY_TIMES * low else "linear"

    @functools.lru_cache(maxsize=64)  # noqa: B019  (a table lives as long as the page)
    def _met(self, condition: Condition) -> Rows:
        check_columns([condition.column], list(self.columns))
        return numpy.flatnonzero(self.columns[condition.column].meets(condition))

    def where(self, filters: Sequence[Condition]) -> Rows:
        """Runs that meet every condition."""
        rows: Rows = numpy.arange(self.count, dtype=numpy.int64)
        for condition in filters:
            rows = numpy.intersect1d(rows, self._met(condition), assume_unique=True)
        return rows

    def drawn(self, view: View) -> Rows:
        """Runs of a resolved view that have both its coordinates."""
        rows = self.where(view.filters)
        if not view.x or not view.y:
            return rows[:0]
        x, y = self._coordinates(view, rows)
        return rows[numpy.isfinite(x) & numpy.isfinite(y)]

    def _coordinates(self, view: View, rows: Rows) -> tuple[Floats, Floats]:
        """Where runs are on the map; on a log axis by their logarithm, which only a positive
        number has.
        """
        x = along_axis(self.numbers(view.x)[rows], view.x_scale)
        y = along_axis(self.numbers(view.y)[rows], view.y_scale)
        return x, y

    def brushed(self, view: View) -> Rows:
        """Runs of a resolved view that lie in its region; all that are drawn where there is
        none.
        """
        rows = self.drawn(view)
        if not view.region:
            return rows
        # A lasso is drawn on the screen: between its corners it is straight on the axes, not in the
        # numbers.
        corners = numpy.array(view.region, dtype=numpy.float64)
        across = along_axis(corners[:, 0], view.x_scale).clip(min=LOWEST).tolist()
        up = along_axis(corners[:, 1], view.y_scale).clip(min=LOWEST).tolist()
        region = list(zip(across, up, strict=True))
        x, y = self._coordinates(view, rows)
        return rows[inside(region, x, y)]

    def counts(self, rows: Rows) -> list[tuple[str, Share]]:
        """Runs by verdict, those of this package first, in their order."""
        members = self.by_text(VERDICT, rows)
        return [(name, Share(len(members[name]), len(rows))) for name in in_order(members)]

    def by_text(self, column: str, rows: Rows) -> dict[str, Rows]:
        """Runs by what a column of text says; "none" where it says nothing."""
        texts = self.columns[column]
        codes = numpy.where(texts.missing[rows], -1, texts.values[rows])
        members = dict[str, Rows]()
        for code in numpy.unique(codes).tolist():
            name = "none" if code < 0 else texts.texts[code]
            members[name] = rows[codes == code]
        return members

    def medians(
        self, rows: Rows, columns: Sequence[str] = ()
    ) -> list[tuple[str, float, float, float, int]]:
        """Column, median, quartiles and how many runs have a value. columns: those to list
        first.
        """
        lines = []
        for column in dict.fromkeys([*columns, *wanted_medians()]):
            if column not in self.axes:
                continue
            values = self.numbers(column)[rows]
            values = values[~numpy.isnan(values)]
            if len(values):
                low, median, high = numpy.quantile(values, (0.25, 0.5, 0.75)).tolist()
                lines.append((column, median, low, high, len(values)))
        return lines


def _row_of(columns: Mapping[str, Sequence[Any]], row: int) -> dict[str, Any]:
    return {name: values[row] for name, values in columns.items()}


def _rows_by_id(ids: Column | None) -> dict[str, int]:
    """Where each run is in the table."""
    if ids is None or ids.kind != "text":
        return {}
    rows = numpy.flatnonzero(~ids.missing)
    names = [ids.texts[code] for code in ids.values[rows].tolist()]
    return dict(zip(names, rows.tolist(), strict=True))


def _has_verdicts(columns: Mapping[str, Column]) -> bool:
    """Whether every run with a paper's label has a verdict as well: see `verdict_column`."""
    labels, verdicts = columns.get(PAPER_LABEL), columns.get(VERDICT)
    if labels is None or labels.kind != "text":
        return True
    if verdicts is None or verdicts.kind != "text":
        return bool(labels.missing.all())
    return not bool((~labels.missing & verdicts.missing).any())


def _outcomes(verdicts: Column | None, diverged: Column | None, count: int) -> Column:
    """What became of each run: its verdict. One without has diverged, or could not be analyzed:
    see `outcomes`.
    """
    has_diverged = numpy.zeros(count, dtype=bool) if diverged is None else ~diverged.missing
    if verdicts is None or verdicts.kind == "nothing":
        texts = list[str]()
        codes = numpy.zeros(count, dtype=numpy.int64)
        missing = numpy.ones(count, dtype=bool)
    else:
        if verdicts.kind != "text":  # of a table from elsewhere
            in_words = [None if value is None else str(value) for value in verdicts.tolist()]
            verdicts = column_of(in_words)
            assert verdicts is not None
        texts, codes = list(verdicts.texts), verdicts.values.astype(numpy.int64)
        is_empty = numpy.array([not text for text in texts], dtype=bool)
        missing = verdicts.missing | is_empty[codes]
    instead = numpy.where(has_diverged, len(texts) + 1, len(texts))
    names = [*texts, "not analyzed", "diverged"]
    return _with_used_texts(names, numpy.where(missing, instead, codes))


def _with_used_texts(names: Sequence[str], codes: Rows) -> Column:
    """A column of text whose `texts` are those that stand in it, each once."""
    used, positions = numpy.unique(codes, return_inverse=True)
    used_names = [names[code] for code in used.tolist()]
    texts = list(dict.fromkeys(used_names))
    new_codes = numpy.array([texts.index(name) for name in used_names], dtype=numpy.int64)
    return text_column(texts, new_codes[positions] if len(codes) else codes)


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


def read_run_table(path: Path) -> RunTable:
    """A sweep's directory or a Parquet file. An unreadable shard adds a line to `problems`; the
    others are still shown.
    """
    shards, problems = shard_paths(path), list[str]()
    if not shards:
        raise InputError(f"{path} holds no runs: there is no Parquet file in it")
    tables = read_shards(shards, path, problems=problems, only_single=True)
    if not tables:
        return RunTable({}, path.resolve().name, problems)
    table, where = _joined(tables, path)
    sittings = []
    for shard, part in tables.items():
        sittings += sittings_of(shard, origin(part.schema))
    del tables  # joined, they are in memory twice
    columns = dict(zip(table.column_names, table.columns, strict=True))
    if _kind(columns.get("run_id")) != "text":
        problems.append("the table has no column of run ids: its networks cannot be shown")
        columns.pop("run_id", None)
    about, kept = list[str](), set[str]()
    if path.is_dir() and SweepDirectory(path).exists:
        needed = {name: columns[name].to_pylist() for name in ("index", *NEEDED) if name in columns}
        try:
            if _kind(columns.get("index")) == "numbers":
                about += describe_space(SweepDirectory(path).description(), needed, sittings)
            about += describe_outcomes(needed)
        except InputError as error:
            problems.append(str(error))
        except (TypeError, ValueError, KeyError, AttributeError):
            problems.append(f"{path / 'sweep.json'} does not describe these runs")
        kept = SweepDirectory(path).kept()
    return RunTable(columns, path.resolve().name, problems, about, kept, where.read)


def _kind(values: "pyarrow.ChunkedArray | None") -> str:
    column = None if values is None else column_of(values)
    return "nothing" if column is None else column.kind


class Whereabouts(NamedTuple):
    """In which shard each run of a table is, and in which of its rows."""

    shards: Sequence[Path]
    shard: Rows  # per run, its place among the shards
    row: Rows
    ids: "pyarrow.ChunkedArray | None"

    def read(self, row_of_table: int) -> dict[str, Any]:
        """Every column of one run."""
        path = self.shards[self.shard[row_of_table]]
        row = read_row(path, int(self.row[row_of_table]))
        if self.ids is not None and row.get("run_id") != self.ids[row_of_table].as_py():
            raise InputError(f"{path} was changed since this page was opened; start it again")
        return row


def _joined(
    tables: "Mapping[Path, pyarrow.Table]", path: Path
) -> "tuple[pyarrow.Table, Whereabouts]":
    """Shards as one table, each run once, and where to find the rest of each."""
    import pyarrow

    table = join_tables(tables, path)
    refuse_moments(table.column_names, path)
    numbered = table.append_column(ROW, pyarrow.array(numpy.arange(table.num_rows)))
    try:
        table = each_once(numbered)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path} holds values that cannot be used: {error}") from None
    rows: Rows = table[ROW].to_numpy()
    starts = numpy.cumsum([0, *(part.num_rows for part in tables.values())])
    shard: Rows = numpy.searchsorted(starts, rows, side="right") - 1
    ids = table["run_id"] if "run_id" in table.column_names else None
    where = Whereabouts(list(tables), shard, rows - starts[shard], ids)
    return table.drop_columns([ROW]), where
