"""Two tables of runs made comparable: which runs count, which settings both sides have, and groups of equal settings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.lines import reaches
from algophase.analysis.verdict import Thresholds
from algophase.errors import InputError
from algophase.runs.statistics import NO_RATE, Floats, same_distribution, tenths

if TYPE_CHECKING:
    import pandas

ACCURACIES = ("validation_accuracy", "accuracy")
MATCHED = ("kind", "model", "modulus", "separate_vocabularies", "equals_sign", "activation", "layers", "width")
FLAGS = ("separate_vocabularies", "equals_sign")
NOTED = ("training_fraction", "heads", "hidden", "epochs", "learning_rate", "weight_decay")
MOST_WIDTHS = 4  # more than so many on both sides: width is continuous
NO_WIDTH = "no finite width above 0"  # why a run is left out where width is continuous
NOTHING = "none"  # in place of a setting a kind of network does not have
METRICS = (
    "gradient_symmetricity",
    "gradient_symmetricity_without_equals_sign",
    "distance_irrelevance",
    "distance_irrelevance_wrong_logit",
)
_NUMERIC = (
    "attention_rate",
    "width",
    *ACCURACIES,
    *METRICS,
    "circularity",
    "parameter_norm",
    "diverged_at",
)


@dataclass(frozen=True)
class Side:
    """One population: the runs that count, and how many do not, by reason."""

    name: str
    rows: int
    runs: "pandas.DataFrame" = field(repr=False, compare=False)
    left_out: tuple[tuple[int, str], ...] = ()

    def without(self, kept: "pandas.Series[bool]", reason: str) -> "Side":
        dropped = int((~kept).sum())
        if not dropped:
            return self
        return Side(self.name, self.rows, self.runs[kept], (*self.left_out, (dropped, reason)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rows": self.rows,
            "used": len(self.runs),
            "left_out": [{"runs": count, "reason": reason} for count, reason in self.left_out],
        }


@dataclass(frozen=True)
class Group:
    """Runs of equal settings on both sides. circular: whether circularity is defined, so that runs are split by it."""

    label: str
    runs: tuple["pandas.DataFrame", "pandas.DataFrame"] = field(repr=False, compare=False)
    circular: bool = True


@dataclass(frozen=True)
class Matched:
    """apart: the settings of which the two share no value, in words; they are among the notes."""

    sides: tuple[Side, Side]
    groups: tuple[Group, ...]
    continuous_width: bool
    notes: tuple[str, ...]
    apart: tuple[str, ...] = ()


def match(tables: tuple["pandas.DataFrame", "pandas.DataFrame"], names: tuple[str, str], *, same_settings: bool) -> Matched:
    """Leave out what cannot be compared and group the rest by settings.

    same_settings: the two must share a value of every setting, as with the released table; otherwise a setting of which they
    share none is noted as what is being compared.
    """
    accuracy = next((name for name in ACCURACIES if all(name in table for table in tables)), None)
    if accuracy is None:
        described = " and ".join(f"{name} has {_columns(table)}" for table, name in zip(tables, names, strict=True))
        raise InputError(f"both tables need the column {' or '.join(ACCURACIES)}; {described}")
    sides = tuple(finished(table, name, accuracy) for table, name in zip(tables, names, strict=True))
    a, b = sides[0], sides[1]
    notes: list[str] = [] if accuracy == ACCURACIES[0] else ["full accuracy is over all pairs: no validation accuracy"]
    continuous = _continuous_width(a, b)
    if continuous:
        a, b = (side.without(has_width(side.runs), NO_WIDTH) for side in (a, b))
    shared: list[str] = []
    apart: list[str] = []
    for key in MATCHED:
        if key == "width" and continuous:
            continue
        if not all(key in side.runs for side in (a, b)):
            for side, other in ((a, b), (b, a)):
                if key in other.runs and (held := _values(other.runs[key])) != [NOTHING]:
                    notes.append(f"{side.name} has no column {key}: taken to be {_listed(held)}, as in {other.name}")
            continue
        values = tuple(_values(side.runs[key]) for side in (a, b))
        common = set(values[0]) & set(values[1])
        if not common:
            described = f"{_listed(values[0], key)} in {a.name}, {_listed(values[1], key)} in {b.name}"
            if same_settings:
                raise InputError(f"no runs to compare: {key} is {described}")
            apart.append(f"{key} differs: {described}")
            continue
        a, b = (_keep(side, key, common, other.name) for side, other in ((a, b), (b, a)))
        if len(common) > 1:
            shared.append(key)
    groups = _groups(a, b, shared)
    labels = {group.label for group in groups}
    a, b = (side.without(_label(side.runs, shared).isin(labels), "no run of its settings on the other side") for side in (a, b))
    if not groups:
        raise InputError(f"no runs to compare: {a.name} and {b.name} share no combination of {', '.join(shared)}")
    return Matched((a, b), groups, continuous, (*notes, *apart, *_differences(a, b), *_doubts(a, b)), tuple(apart))


def _columns(table: "pandas.DataFrame") -> str:
    names = [str(name) for name in table.columns]
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "no columns"


def finished(table: "pandas.DataFrame", name: str, accuracy: str = ACCURACIES[0]) -> Side:
    """Runs with an outcome, once each, with what the tests ask of a run: accurate, circular, tenth."""
    runs = table.reset_index(drop=True)
    for column in _NUMERIC:
        if column in runs:
            runs[column] = numbers_of(runs, column, name)
    side = Side(name, len(runs), runs)
    if "run_id" in runs:
        side = side.without(~runs["run_id"].duplicated() | runs["run_id"].isna(), "a run id that is there already")
    diverged = side.runs["diverged_at"].notna() if "diverged_at" in side.runs else side.runs[accuracy].isna() & False
    side = side.without(side.runs[accuracy].notna() | diverged, f"unfinished: no {accuracy.replace('_', ' ')}")
    if side.runs.empty:
        raise InputError(f"{name} has no finished run ({side.rows} rows)")
    runs = side.runs.copy()
    runs["_accurate"] = reaches(runs[accuracy], 1) & ~diverged.loc[runs.index]
    rates = runs["attention_rate"].to_numpy(float) if "attention_rate" in runs else numpy.full(len(runs), numpy.nan)
    runs["_rate"] = rates
    runs["_tenth"] = tenths(rates)
    return Side(name, side.rows, runs, side.left_out)


def numbers_of(table: "pandas.DataFrame", column: str, name: str) -> "pandas.Series[float]":
    import pandas

    try:
        return pandas.to_numeric(table[column]).astype(float)
    except (ValueError, TypeError):
        raise InputError(f"column {column} of {name} is not all numbers") from None


def plain_setting(value: object) -> object:
    """A setting in a form that is equal wherever it comes from: 59 and 59.0, True and 1, missing."""
    if value is None or value != value:
        return NOTHING
    if isinstance(value, bool | numpy.bool_):
        return int(value)
    if isinstance(value, float | numpy.floating) and float(value).is_integer():
        return int(value)
    return value.lower() if isinstance(value, str) else value


def _values(column: "pandas.Series[Any]") -> list[object]:
    return sorted({plain_setting(value) for value in column.unique()}, key=lambda value: (str(type(value)), value))


def _listed(values: list[object], key: str = "") -> str:
    some = [_yes_no(value) if key in FLAGS else str(value) for value in values]
    return ", ".join(some) if len(some) <= 5 else f"{some[0]} to {some[-1]} ({len(some)} values)"


def _keep(side: Side, key: str, common: set[object], other: str) -> Side:
    plain = side.runs[key].map(plain_setting)
    gone = [value for value in _values(side.runs[key]) if value not in common]
    return side.without(plain.isin(common), f"{key.replace('_', ' ')} {_listed(gone, key)}: not in {other}")


def _label(runs: "pandas.DataFrame", keys: list[str]) -> "pandas.Series[str]":
    import pandas

    label = pandas.Series("", index=runs.index, dtype=object)
    for position, key in enumerate(keys):
        told: Callable[[object], str] = _yes_no if key in FLAGS else str
        label = label + (", " if position else "") + key.replace("_", " ") + " " + runs[key].map(plain_setting).map(told)
    return label


def _yes_no(value: object) -> str:
    return {0: "no", 1: "yes"}.get(value, str(value)) if isinstance(value, int) else str(value)


def _groups(a: Side, b: Side, keys: list[str]) -> tuple[Group, ...]:
    labels = tuple(_label(side.runs, keys) for side in (a, b))
    groups = []
    for label in sorted(set(labels[0]) & set(labels[1])):
        runs = (_with_values(a.runs[labels[0] == label]), _with_values(b.runs[labels[1] == label]))
        groups.append(Group(label, runs, all(has_circularity(side) for side in runs)))
    return tuple(groups)


def _with_values(runs: "pandas.DataFrame") -> "pandas.DataFrame":
    """Without metrics that none of these runs has, such as those of another architecture."""
    return runs.drop(columns=[name for name in METRICS if name in runs and runs[name].isna().all()])


def has_circularity(runs: "pandas.DataFrame") -> bool:
    """The paper does not call circularity well defined with separate vocabularies or an equals sign (appendix I)."""
    for key in FLAGS:
        if key in runs and (runs[key].map(plain_setting) == 1).any():
            return False
    return "circularity" in runs and bool(runs["circularity"].notna().any())


def _differences(a: Side, b: Side) -> list[str]:
    """Settings that are not matched, but that a reader should know to differ."""
    found = []
    for key in NOTED:
        if all(key in side.runs for side in (a, b)):
            values = tuple(_values(side.runs[key]) for side in (a, b))
            if values[0] != values[1]:
                found.append(f"{key} differs: {_listed(values[0])} in {a.name}, {_listed(values[1])} in {b.name}")
    return found


def _continuous_width(a: Side, b: Side) -> bool:
    return all(continuous_width(side.runs) for side in (a, b))


def continuous_width(runs: "pandas.DataFrame") -> bool:
    return "width" in runs and runs["width"][has_width(runs)].nunique() > MOST_WIDTHS


def has_width(runs: "pandas.DataFrame") -> "pandas.Series[bool]":
    """Whether each run has a width to take the logarithm of."""
    return (runs["width"] > 0) & (runs["width"] < numpy.inf)


def _doubts(a: Side, b: Side) -> list[str]:
    """What would make the tests answer another question than whether the outcomes are alike."""
    found = []
    spread = [("_rate", "attention rates", "read tenths with care")]
    if _continuous_width(a, b):
        spread.append(("width", "widths", "tenths of the rate hold other widths, read the slices of width"))
    for column, name, advice in spread:
        drawn = tuple(side.runs[column].dropna().to_numpy(float) for side in (a, b))
        if all(len(some) for some in drawn):
            distance, p = same_distribution(*drawn)
            if p < 0.01:
                found.append(f"the {name} are spread differently (distance {distance:.2f}, p = {p:.1g}): {advice}")
    if all("run_id" in side.runs for side in (a, b)):
        both = len(set(a.runs["run_id"].dropna()) & set(b.runs["run_id"].dropna()))
        if both:
            found.append(f"{both} runs have the same settings and seed on both sides; the tests take runs as independent")
    return found


def accurate(runs: "pandas.DataFrame") -> "pandas.DataFrame":
    return runs[runs["_accurate"]]


def circular(runs: "pandas.DataFrame", wanted: bool = True) -> "pandas.DataFrame":
    """Accurate runs whose embedding is circular, or is not; runs without a circularity are in neither."""
    some = accurate(runs)
    known = some[some["circularity"].notna()]
    return known[reaches(known["circularity"], Thresholds().circularity) == wanted]


def values(runs: "pandas.DataFrame", name: str) -> Floats:
    found: Floats = runs[name].dropna().to_numpy(float)
    return found


def strata(runs: tuple["pandas.DataFrame", "pandas.DataFrame"]) -> list[int]:
    """Tenths with runs on either side, NO_RATE first where there are runs without a rate."""
    present = set(runs[0]["_tenth"]) | set(runs[1]["_tenth"])
    return [tenth for tenth in range(NO_RATE, 10) if tenth in present]
