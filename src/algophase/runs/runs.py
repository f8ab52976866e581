"""`Runs`: a table of training runs: counts, filters, groups, phase boundaries.

Lists of runs, reports, comparisons, the explorer and the paper's items all work on it. `Runs(...)`
takes a table as it is. `Runs.read` and `Runs.of` keep the runs that have an outcome, and answer
which of them are accurate, circular, in which tenth of the attention rate; groups of equal
settings; phase boundaries. The DataFrame is in `frame`, there with a few columns of our own whose
names begin with "_": `_accurate`, `_rate`, `_tenth`, `_verdict` (the paper's label, where some runs
have that alone).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy

from algophase.analysis.catalogue import (
    BARE,
    CIRCULARITY,
    IRRELEVANCE,
    SYMMETRICITY,
    WRONG_LOGIT,
    line,
    metrics,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.lines import reaches
from algophase.pictures.by_rate import rate_figure
from algophase.pictures.to_matplotlib import draw
from algophase.runs.boundary import RESAMPLES, Boundary, phase_boundary
from algophase.runs.columns import Columns, Rows, group_names
from algophase.runs.overview import name_of_verdicts, outcomes, verdict_column
from algophase.runs.pictures import rate_by_metric
from algophase.runs.rows import DECIDED, decided
from algophase.runs.selection import Condition, select
from algophase.runs.statistics import Floats, Share, tenths
from algophase.storage.runs_table import read_ends

if TYPE_CHECKING:
    import pandas

    from algophase.pictures.style import Figure

ACCURACIES = ("validation_accuracy", "accuracy")
MATCHED = (
    "kind",
    "model",
    "modulus",
    "separate_vocabularies",
    "equals_sign",
    "activation",
    "layers",
    "width",
    "operation",
    "group",
)
FLAGS = ("separate_vocabularies", "equals_sign")
METRICS = (
    SYMMETRICITY,
    BARE,
    IRRELEVANCE,
    WRONG_LOGIT,
)  # by which populations are compared; each has a line
VERDICTS = ("Pizza", "Clock")  # phases that need no metric: half of the runs have this verdict
MOST_WIDTHS = 4  # with more values than these, width is continuous
MOST_GROUPS = 6
NO_WIDTH = "no finite width above 0"  # why a run is left out where width is continuous
NOTHING = "none"  # in place of a setting a kind of network does not have
CIRCULAR_RUNS, ACCURATE_RUNS = "circular accurate runs", "accurate runs"


def _numeric() -> list[str]:
    """Columns that must hold numbers: those we count by, and every metric."""
    return [
        "attention_rate",
        "width",
        "diverged_at",
        "parameter_norm",
        ACCURACIES[0],
        *(metric.name for metric in metrics()),
    ]


def _accuracy_column(table: "pandas.DataFrame") -> str | None:
    """The validation accuracy; where no run has one, as without validation pairs, that of all
    pairs.
    """
    present = [column for column in ACCURACIES if column in table]
    filled = [column for column in present if table[column].notna().any()]
    return next(iter([*filled, *present]), None)


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a table, on pandas: counts, filters, groups and phase boundaries. Make it with
    `Runs.read`.

    Arguments:
        name: the population's name.
        frame: one row per run.
        rows: rows of the table it comes from.
        left_out: runs without an outcome: how many, and why.
        source: where it comes from, in words.
        label: the settings that all its runs share.
        verdict_name: what a run's verdict is: a verdict, or in an older table the paper's label.
        named_by: the column with the runs' names.

    Example:
        >>> from algophase import Runs
        >>> runs = Runs.read("fixed-width")  # shipped with the package
        >>> len(runs), len(runs.accurate), len(runs.circular)
        (4000, 3991, 1424)
    """

    name: str
    frame: "pandas.DataFrame" = field(repr=False)
    rows: int
    left_out: tuple[tuple[int, str], ...] = ()
    source: str = ""
    label: str = ""
    verdict_name: str = "verdict"
    named_by: str = "run_id"

    def __repr__(self) -> str:
        return f"<Runs {self.name}: {len(self.frame):,}>"

    def plot(self) -> "Figure":
        """Draw the metrics of the accurate runs against the attention rate, colored by verdict, as
        a Matplotlib figure.

        Raises:
            InputError: the runs have no attention rate, or no metrics.

        Example:
            >>> Runs.read("fixed-width").plot().axes[0].get_xlabel()
            'attention rate'
        """
        accurate = self.accurate
        names = [name for name in (SYMMETRICITY, IRRELEVANCE) if name in accurate]
        if not names or not accurate.rates_vary:
            raise InputError(
                f"{self.name} has no metrics along an attention rate to plot; "
                f"it has {len(self):,} runs"
            )
        return draw(rate_figure([rate_by_metric(accurate.frame, name) for name in names]))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read the runs of a sweep.

        Arguments:
            path: a sweep's directory, a Parquet file, or the name of a shipped sweep.

        Returns:
            The runs that have an outcome.

        Raises:
            InputError: there is no such table, or it cannot be read.
        """
        return cls.of(read_ends(path), Path(path).resolve().name)

    @classmethod
    def of(
        cls, table: "pandas.DataFrame", name: str, accuracy: str | None = None, source: str = ""
    ) -> Self:
        """Take the runs of a table that have an outcome, each once. A missing column disables what
        needs it.

        Arguments:
            table: one row per run, in our column names.
            name: the population's name.
            accuracy: the column that says whether a run is accurate; by default the validation
                accuracy, or that of all pairs.
            source: where the table comes from, in words.

        Returns:
            The runs.

        Raises:
            InputError: no run has an outcome, or a column has the wrong type.
        """
        accuracy = accuracy or _accuracy_column(table)
        if accuracy is None:
            raise InputError(
                f"{name} needs the column {' or '.join(ACCURACIES)}; it has "
                f"{columns_in_words(table)}"
            )
        frame = table.reset_index(drop=True)
        for column in _numeric():
            if column in frame:
                frame[column] = numbers_of(frame, column, name)
        if "group" in frame and "modulus" in frame:
            frame["group"] = group_names(frame)
        runs = cls(name, frame, len(frame), source=source)
        if "run_id" in frame:
            is_first = ~frame["run_id"].duplicated() | frame["run_id"].isna()
            runs = runs.without(is_first, "a run id that is there already")
        has_outcome = runs[accuracy].notna() | runs._diverged
        runs = runs.without(has_outcome, f"unfinished: no {accuracy.replace('_', ' ')}")
        if not len(runs):
            raise InputError(f"{name} has no finished run ({runs.rows} rows)")
        return runs._with_own_columns(accuracy)

    @property
    def _diverged(self) -> "pandas.Series[bool]":
        """Whether the training of each run diverged."""
        import pandas

        if "diverged_at" in self:
            return self["diverged_at"].notna()
        return pandas.Series(False, index=self.frame.index)

    def _with_own_columns(self, accuracy: str) -> Self:
        """With `_accurate`, `_rate`, `_tenth` and `_verdict`. accuracy: the column of that name."""
        frame = self.frame.copy()
        rates = numpy.full(len(frame), numpy.nan)
        if "attention_rate" in frame:
            rates = frame["attention_rate"].to_numpy(float)
            rates = numpy.where(numpy.isfinite(rates), rates, numpy.nan)
        verdicts = verdict_column(frame)
        frame["_accurate"] = reaches(frame[accuracy], 1) & ~self._diverged
        frame["_rate"] = rates
        frame["_tenth"] = tenths(rates)
        frame["_verdict"] = outcomes(frame, verdicts)
        return replace(self, frame=frame, verdict_name=name_of_verdicts(verdicts))

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, column: str) -> bool:
        return column in self.frame

    def __getitem__(self, column: str) -> "pandas.Series[Any]":
        return self.frame[column]

    def select(self, conditions: Sequence[Condition] = (), sort: str | None = None) -> Rows:
        """The row numbers of the runs that meet all conditions.

        Arguments:
            conditions: what a run must meet.
            sort: a column to sort by; a leading "-" puts the largest first.

        Returns:
            Row numbers, an array (n,).
        """
        return select(self.frame, conditions, sort)

    @functools.cached_property
    def columns(self) -> Columns:
        """What each column holds, and its values."""
        return Columns(self.frame)

    @property
    def noun(self) -> str:
        """What a row is."""
        return "run" if self.named_by == "run_id" else "network"

    def where(self, kept: "pandas.Series[bool]") -> Self:
        """Keep some of the runs.

        Arguments:
            kept: a mask, one value per run.

        Returns:
            The runs that are kept.
        """
        return replace(self, frame=self.frame[kept])

    def without(self, kept: "pandas.Series[bool]", reason: str) -> Self:
        """Keep some of the runs, and count the others as left out.

        Arguments:
            kept: a mask, one value per run.
            reason: why the others are left out.

        Returns:
            The runs that are kept.
        """
        dropped = int((~kept).sum())
        return (
            replace(self.where(kept), left_out=(*self.left_out, (dropped, reason)))
            if dropped
            else self
        )

    def drawable(self) -> Self:
        """The runs that a picture can show: with finite numbers, and with a width where width is
        continuous.
        """
        frame = self.frame.copy()
        for column in _numeric():
            if column in frame:
                frame[column] = frame[column].where(numpy.isfinite(frame[column]))
        runs = replace(self, frame=frame)
        return runs.without(runs.has_width, NO_WIDTH) if runs.continuous_width else runs

    def decided(self) -> Self:
        """The runs with this version's verdicts from their numbers. A table has those of the
        version that made it.

        Example:
            >>> runs = Runs.read("moduli")  # begun before there were short cycles
            >>> int((runs.decided()["_verdict"] != runs["_verdict"]).sum())
            15
        """
        import pandas
        import pyarrow

        if "verdict" not in self.frame or self.verdict_name != "verdict":
            return self
        table = pyarrow.Table.from_pandas(self.frame, preserve_index=False)
        rows = [decided(row) for row in table.to_pylist()]
        frame = self.frame.copy()
        for column in DECIDED:
            frame[column] = pandas.Series([row.get(column) for row in rows], index=frame.index)
        frame["_verdict"] = frame["verdict"].where(frame["verdict"].notna(), frame["_verdict"])
        return replace(self, frame=frame)

    @property
    def accurate(self) -> Self:
        """Runs that answer every pair right."""
        return self.where(self.frame["_accurate"])

    @property
    def circular(self) -> Self:
        """Accurate runs whose embedding is circular."""
        return self._by_circularity(True)

    @property
    def not_circular(self) -> Self:
        """Accurate runs whose embedding is not circular. Runs without a circularity are neither."""
        return self._by_circularity(False)

    def _by_circularity(self, is_circular: bool) -> Self:
        measured = self.where(self.frame["_accurate"] & self.frame[CIRCULARITY].notna())
        reached = reaches(measured[CIRCULARITY], Thresholds().circularity)
        return measured.where(reached == is_circular)

    @property
    def accuracy_share(self) -> Share:
        """Share of accurate runs."""
        return Share(len(self.accurate), len(self))

    @property
    def circular_share(self) -> Share:
        """Share of runs with a circular embedding, among all runs. The paper prints this share."""
        defined = self.frame[CIRCULARITY].dropna()
        return Share(int(reaches(defined, Thresholds().circularity).sum()), len(defined))

    @property
    def circular_share_of_accurate(self) -> Share:
        """Share of runs with a circular embedding, among the accurate ones."""
        return Share(len(self.circular), int(self.accurate[CIRCULARITY].notna().sum()))

    @property
    def rates_vary(self) -> bool:
        """Whether runs differ in their attention rate."""
        return bool(self.frame["_rate"].nunique() > 1)

    @property
    def continuous_width(self) -> bool:
        """Whether width has more values than a table could list."""
        return "width" in self and self["width"][self.has_width].nunique() > MOST_WIDTHS

    @property
    def has_width(self) -> "pandas.Series[bool]":
        """Whether each run has a width to take the logarithm of."""
        return (self.frame["width"] > 0) & (self.frame["width"] < numpy.inf)

    @property
    def has_circularity(self) -> bool:
        """Whether circularity is defined. The paper does not call it well defined with separate
        vocabularies or an equals sign (appendix I).
        """
        for key in FLAGS:
            if key in self and (self[key].map(comparable_setting) == 1).any():
                return False
        return CIRCULARITY in self and bool(self[CIRCULARITY].notna().any())

    @property
    def core_name(self) -> str:
        """What `core` has: circular accurate runs, as in the paper, or accurate runs where
        circularity is undefined.
        """
        return CIRCULAR_RUNS if self.accurate.has_circularity else ACCURATE_RUNS

    @property
    def core(self) -> Self:
        """The runs that phase boundaries are fitted to; see `core_name`."""
        return self.circular if self.core_name == CIRCULAR_RUNS else self.accurate

    def values(self, column: str) -> Floats:
        """The finite numbers of a column.

        Arguments:
            column: its name.

        Returns:
            An array (n,).
        """
        defined: Floats = self.frame[column].dropna().to_numpy(float)
        return defined

    def share(self, chosen: "pandas.Series[bool]") -> Share:
        """Count chosen runs, with a 95% interval for their share.

        Arguments:
            chosen: a mask, one value per run.

        Returns:
            A `Share`: the count, the total, and the Wilson interval.
        """
        return Share(int(chosen.sum()), len(self.frame))

    def inside_phase(self, metric: str) -> "pandas.Series[bool]":
        """Whether each run is on the Pizza's side of a metric: symmetricity above its line,
        irrelevance below. Of a verdict: whether each run has it.

        Arguments:
            metric: the metric's name, or "Pizza" or "Clock".

        Returns:
            A mask, one value per run.
        """
        if metric in VERDICTS:
            return self["verdict"] == metric
        in_phase: pandas.Series[bool] = line(metric).inside(self.frame[metric])
        return in_phase

    def boundary(
        self,
        metric: str,
        *,
        by_width: bool = False,
        width: float | None = None,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> Boundary:
        """Find where the Pizza's phase ends along the attention rate: a logistic fit with a
        bootstrap interval, to the runs that have a rate and this metric.

        Arguments:
            metric: the metric whose line separates the phases; or a verdict, "Pizza" or "Clock",
                that half of the runs have.
            by_width: fit the boundary's change with the width as well.
            width: the width at which to read the boundary, where width is continuous.
            resamples: bootstrap resamples for the interval.
            seed: of the bootstrap.

        Returns:
            A `Boundary`: the rate and its 95% interval.

        Example:
            >>> from algophase import Runs
            >>> print(Runs.read("fixed-width").accurate.boundary("Pizza"))
            0.631 [0.625, 0.638]
        """
        column = "verdict" if metric in VERDICTS else metric
        runs = self.where(self["_rate"].notna() & self[column].notna())
        widths = None
        if by_width:
            runs = runs.where(runs.has_width)
            widths = runs["width"].to_numpy(float)
        rates = runs["_rate"].to_numpy(float)
        in_phase: Floats = runs.inside_phase(metric).to_numpy(float)
        return phase_boundary(rates, in_phase, widths, width=width, resamples=resamples, seed=seed)

    def groups(self) -> list[Self]:
        """Parts with equal settings, the largest first. Attention rate and continuous width do not
        divide.
        """
        keys = [
            key
            for key in MATCHED
            if key in self.frame and not (key == "width" and self.continuous_width)
        ]
        keys = [key for key in keys if 1 < _in_words(self.frame[key]).nunique() <= 2 * MOST_GROUPS]
        if not keys:
            return [self]
        if "group" in keys and "modulus" in keys:
            keys.remove("modulus")  # the group's name says it
        groups = []
        columns = [_in_words(self.frame[key]) for key in keys]
        for values, frame in self.frame.groupby(columns, sort=True):
            settings = zip(keys, values, strict=True)
            label = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in settings)
            groups.append(replace(self, frame=frame, rows=len(frame), left_out=(), label=label))
        return sorted(groups, key=len, reverse=True)

    def require(self, columns: Sequence[str]) -> Self:
        """Check that the table has some columns.

        Arguments:
            columns: their names.

        Returns:
            The same runs.

        Raises:
            InputError: a column is missing.
        """
        missing = [name for name in columns if name not in self.frame]
        if missing:
            raise InputError(
                f"{self.name} has no column {', '.join(missing)}: make it again with this version"
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Counts of rows, of runs used, and of runs left out."""
        left_out = [{"runs": count, "reason": reason} for count, reason in self.left_out]
        return {"name": self.name, "rows": self.rows, "used": len(self.frame), "left_out": left_out}


def columns_in_words(table: "pandas.DataFrame") -> str:
    names = [str(name) for name in table.columns]
    if not names:
        return "no columns"
    more = ", ..." if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def numbers_of(table: "pandas.DataFrame", column: str, name: str) -> "pandas.Series[float]":
    import pandas

    try:
        return pandas.to_numeric(table[column]).astype(float)
    except (ValueError, TypeError):
        raise InputError(f"column {column} of {name} is not all numbers") from None


def _in_words(column: "pandas.Series[Any]") -> "pandas.Series[str]":
    """Settings as labels: beside networks without a width, 128 is 128.0 in a table."""
    if column.dtype.kind == "f":
        return column.map("{:g}".format)
    return column.astype(str)


def comparable_setting(value: object) -> object:
    """A setting in a form that is equal wherever it comes from: 59 and 59.0, True and 1,
    missing.
    """
    if value is None or value != value:
        return NOTHING
    if isinstance(value, bool | numpy.bool_):
        return int(value)
    if isinstance(value, float | numpy.floating) and float(value).is_integer():
        return int(value)
    return value.lower() if isinstance(value, str) else value
