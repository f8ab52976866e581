"""A sweep's table as the page needs it: columns to filter and draw by, regions, statistics, single rows."""

import functools
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from algophase.analysis.catalogue import catalogue, metrics
from algophase.analysis.verdict import in_order
from algophase.errors import InputError
from algophase.explore.state import Point, View
from algophase.runs.overview import describe_outcomes, describe_space, outcomes, setting_names, verdict_column
from algophase.runs.selection import Condition, kind_of, select
from algophase.runs.statistics import Floats, Share
from algophase.settings import RANGES
from algophase.storage.runs_table import join_tables, python_columns, read_shards, refuse_moments, shard_paths
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    import pyarrow

Places = NDArray[numpy.int64]  # rows, by their place in the table
VERDICT, PAPER_LABEL = "verdict", "paper_label"
KEPT = "weights_kept"  # whether a run's network lies in the sweep's directory
KEYS = ("index", "run_id", "space", "seed")  # which run it is rather than what it is
X = ("attention_rate", "width")
MOST_COLOURS = 10  # different texts that still make a legend
LOWEST = -1e300  # in place of -inf: a corner at 0 of a region on a log axis
MANY_TIMES = 30  # a positive column whose 5% and 95% quantiles differ by this factor gets a log axis


def wanted_heights() -> list[str]:
    """Default vertical axes, best first: metrics for which the paper draws a line between the phases, then the others."""
    shown = [quantity for quantity in metrics() if quantity.shown and not quantity.percent]
    return [*(quantity.name for quantity in sorted(shown, key=lambda each: each.line is None)), "validation_accuracy"]


def wanted_medians() -> list[str]:
    """The columns whose medians a region's statistics list."""
    return [*X, *(quantity.name for quantity in metrics() if quantity.shown), "validation_accuracy", "parameter_norm"]


class RunTable:
    """columns: those with one value per run, `verdict` filled in for every run; problems: what could not be read, in lines."""

    def __init__(
        self,
        columns: Mapping[str, list[Any]],
        name: str,
        problems: Sequence[str] = (),
        about: Sequence[str] = (),
        kept: Collection[str] = (),
    ) -> None:
        self.name, self.problems, self.about = name, list(problems), list(about)
        self.all = dict(columns)
        self.count = len(next(iter(self.all.values()), []))
        self.columns: dict[str, list[Any]] = {}
        for column, values in self.all.items():
            try:
                kind_of(column, values)
            except InputError:
                continue  # lists: circles and reasons, shown with a run
            self.columns[column] = values
        # An older table has the paper's labels alone: they stand in the verdicts' place, and `verdict_name` says so.
        by, nothing = verdict_column(self.all), [None] * self.count
        self.verdict_name = "verdict" if by == VERDICT else "paper's label"
        self.columns[VERDICT] = outcomes(self.all.get(by, nothing), self.all)
        if by == VERDICT and PAPER_LABEL in self.all:
            self.columns[PAPER_LABEL] = outcomes(self.all[PAPER_LABEL], self.all)
        ids = self.all.get("run_id", [None] * self.count)
        self.places = {run_id: place for place, run_id in enumerate(ids) if isinstance(run_id, str)}
        if kept:
            self.columns[KEPT] = [run_id in kept for run_id in ids]
        self._numbers: dict[str, Floats] = {}

    def row(self, place: int) -> dict[str, Any]:
        """Every column of one run, as its shard has it."""
        return {name: values[place] for name, values in self.all.items()}

    def run_id(self, place: int) -> str:
        return str(self.all["run_id"][place]) if "run_id" in self.all else ""

    def kind(self, column: str) -> str:
        return kind_of(column, self.columns[column])

    def numbers(self, column: str) -> Floats:
        """A column as float64, NaN for what is missing or infinite; true and false are 1 and 0."""
        if column not in self._numbers:
            values = self.columns[column]
            found = numpy.array([numpy.nan if value is None else float(value) for value in values], dtype=numpy.float64)
            self._numbers[column] = numpy.where(numpy.isfinite(found), found, numpy.nan)
        return self._numbers[column]

    @functools.cached_property
    def axes(self) -> list[str]:
        """Columns to draw along: numbers that differ between runs, or all numbers where none do."""
        held = [name for name in self.columns if self.kind(name) in ("numbers", "true and false")]
        return [name for name in held if len(set(self.columns[name])) > 1] or held

    @functools.cached_property
    def colours(self) -> list[str]:
        """Columns to colour by: the verdict, the paper's label, numbers, and texts of a few values."""
        verdicts = [name for name in (VERDICT, PAPER_LABEL) if name in self.columns]
        texts = [name for name in self.columns if name not in (*KEYS, *verdicts) and self.kind(name) == "text"]
        return [*verdicts, *(name for name in texts if 1 < len(set(self.columns[name])) <= MOST_COLOURS), *self.axes]

    @functools.cached_property
    def filterable(self) -> list[str]:
        """Columns to filter by, those that differ between runs first."""
        held = [name for name in self.columns if self.kind(name) != "nothing" and name.isprintable()]
        return sorted(held, key=lambda name: len(set(self.columns[name])) == 1)

    @functools.cached_property
    def settings(self) -> list[str]:
        return [name for name in setting_names() if name in self.columns]

    def resolve(self, view: View) -> tuple[View, list[str]]:
        """A view that names only columns of this table, and a message for each name that was dropped."""
        problems, filters = [], []
        for condition in view.filters:
            try:
                self._met(condition)
            except InputError as error:
                problems.append(f"{error}; this filter is left out")
            else:
                filters.append(condition)
        chosen = dict[str, Any]()
        for name, wanted, allowed in (
            ("x", X, self.axes),
            ("y", wanted_heights(), self.axes),
            ("colour", (VERDICT,), self.colours),
        ):
            asked = getattr(view, name)
            if asked and asked not in allowed:
                problems.append(f"{name} is {asked!r}, which this table cannot be drawn by")
            fitting = [column for column in wanted if column in allowed] or allowed
            chosen[name] = asked if asked in allowed else (fitting[0] if fitting else "")
        if chosen["y"] == chosen["x"] and not view.y:
            chosen["y"] = next((column for column in self.axes if column != chosen["x"]), chosen["x"])
        chosen["x_scale"] = view.x_scale or self.usual_scale(chosen["x"])
        chosen["y_scale"] = view.y_scale or self.usual_scale(chosen["y"])
        return replace(view, filters=tuple(filters), **chosen), problems

    @functools.lru_cache(maxsize=256)  # noqa: B019  (a table lives as long as the page)
    def usual_scale(self, column: str) -> str:
        """The scale of an axis for which none was chosen: "log" for what grows without an end, over many orders."""
        if column not in self.columns or has_upper_end(column):
            return "linear"
        values = self.numbers(column)
        values = values[~numpy.isnan(values)]
        if not len(values) or values.min() <= 0:
            return "linear"
        low, high = numpy.quantile(values, (0.05, 0.95)).tolist()
        return "log" if high >= MANY_TIMES * low else "linear"

    @functools.lru_cache(maxsize=64)  # noqa: B019  (a table lives as long as the page)
    def _met(self, condition: Condition) -> Places:
        return numpy.array(select(self.columns, [condition]), dtype=numpy.int64)

    def where(self, filters: Sequence[Condition]) -> Places:
        """Runs that meet every condition."""
        places: Places = numpy.arange(self.count, dtype=numpy.int64)
        for condition in filters:
            places = numpy.intersect1d(places, self._met(condition), assume_unique=True)
        return places

    def drawn(self, view: View) -> Places:
        """Runs of a resolved view that have both its coordinates."""
        places = self.where(view.filters)
        if not view.x or not view.y:
            return places[:0]
        x, y = self._coordinates(view, places)
        return places[numpy.isfinite(x) & numpy.isfinite(y)]

    def _coordinates(self, view: View, places: Places) -> tuple[Floats, Floats]:
        """Where runs are on the map; on a log axis by their logarithm, which only a positive number has."""
        x = along_axis(self.numbers(view.x)[places], view.x_scale)
        y = along_axis(self.numbers(view.y)[places], view.y_scale)
        return x, y

    def brushed(self, view: View) -> Places:
        """Runs of a resolved view that lie in its region; all that are drawn where there is none."""
        places = self.drawn(view)
        if not view.region:
            return places
        # A lasso is drawn on the screen: between its corners it is straight on the axes, not in the numbers.
        corners = numpy.array(view.region, dtype=numpy.float64)
        across = along_axis(corners[:, 0], view.x_scale).clip(min=LOWEST).tolist()
        up = along_axis(corners[:, 1], view.y_scale).clip(min=LOWEST).tolist()
        region = list(zip(across, up, strict=True))
        return places[inside(region, *self._coordinates(view, places))]

    def counts(self, places: Places) -> list[tuple[str, Share]]:
        """Runs by verdict, the known ones in their order."""
        verdicts = self.columns[VERDICT]
        found = Counter(verdicts[place] for place in places.tolist())
        return [(name, Share(found[name], len(places))) for name in in_order(found)]

    def medians(self, places: Places, columns: Sequence[str] = ()) -> list[tuple[str, float, float, float, int]]:
        """Column, median, quartiles and how many runs have a value. columns: those to list first."""
        rows = []
        for column in dict.fromkeys([*columns, *wanted_medians()]):
            if column in self.axes:
                values = self.numbers(column)[places]
                values = values[~numpy.isnan(values)]
                if len(values):
                    low, middle, high = numpy.quantile(values, (0.25, 0.5, 0.75)).tolist()
                    rows.append((column, middle, low, high, len(values)))
        return rows


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
        return (x >= min(x0, x1)) & (x <= max(x0, x1)) & (y >= min(y0, y1)) & (y <= max(y0, y1))
    found = numpy.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(region, [*region[1:], region[0]], strict=True):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            found ^= crosses & (x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0)))
    return found


def read_run_table(path: Path) -> RunTable:
    """A sweep's directory or a Parquet file. An unreadable shard adds a line to `problems`; the others are still shown."""
    shards, problems = shard_paths(path), list[str]()
    if not shards:
        raise InputError(f"{path} holds no runs: there is no Parquet file in it")
    tables = read_shards(shards, path, problems=problems)
    columns = _columns(tables, path) if tables else {}
    if columns and not isinstance(next((value for value in columns.get("run_id", ()) if value is not None), None), str):
        problems.append("the table has no column of run ids: its networks cannot be shown")
        columns.pop("run_id", None)
    about, kept = list[str](), set[str]()
    if path.is_dir() and SweepDirectory(path).exists:
        try:
            if isinstance(next(iter(columns.get("index", ())), None), int):
                directory = SweepDirectory(path)
                about += describe_space(directory.description(), columns, directory.sittings())
            about += describe_outcomes(columns)
        except InputError as error:
            problems.append(str(error))
        except (TypeError, ValueError, KeyError, AttributeError):
            problems.append(f"{path / 'sweep.json'} does not describe these runs")
        kept = SweepDirectory(path).kept()
    return RunTable(columns, path.resolve().name, problems, about, kept)


def _columns(tables: "Mapping[Path, pyarrow.Table]", path: Path) -> dict[str, list[Any]]:
    table = join_tables(tables, path)
    refuse_moments(table.column_names, path)
    return python_columns(table, path)
