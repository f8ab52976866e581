"""Two tables of runs made comparable: which runs count, which settings both sides have, and
groups of equal settings.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy

from algophase.core.errors import InputError
from algophase.runs.columns import group_names
from algophase.runs.runs import (
    ACCURACIES,
    FLAGS,
    MATCHED,
    METRICS,
    NO_WIDTH,
    NOTHING,
    Runs,
    columns_in_words,
    comparable_setting,
)
from algophase.runs.statistics import same_distribution

if TYPE_CHECKING:
    import pandas

MOST_LISTED = 5  # values of a setting
NOTED = ("training_fraction", "heads", "hidden", "epochs", "learning_rate", "weight_decay")


@dataclass(frozen=True)
class MatchedRuns:
    """Runs of equal settings on both sides. circular: whether circularity is defined, so that
    runs are split by it.
    """

    label: str
    runs: tuple[Runs, Runs] = field(repr=False, compare=False)
    circular: bool = True


@dataclass(frozen=True)
class Matched:
    """apart: the settings of which the two share no value, in words; they are among the notes."""

    sides: tuple[Runs, Runs]
    groups: tuple[MatchedRuns, ...]
    continuous_width: bool
    notes: tuple[str, ...]
    apart: tuple[str, ...] = ()


def match(
    tables: tuple["pandas.DataFrame", "pandas.DataFrame"],
    names: tuple[str, str],
    *,
    same_settings: bool,
) -> Matched:
    """Leave out what cannot be compared and group the rest by settings.

    same_settings: the two must share a value of every setting, as with the released table;
        otherwise a setting of which they share none is noted as what is being compared.
    """
    accuracy = next((name for name in ACCURACIES if all(name in table for table in tables)), None)
    if accuracy is None:
        described = " and ".join(
            f"{name} has {columns_in_words(table)}"
            for table, name in zip(tables, names, strict=True)
        )
        raise InputError(f"both tables need the column {' or '.join(ACCURACIES)}; {described}")
    sides = tuple(Runs.of(table, name, accuracy) for table, name in zip(tables, names, strict=True))
    a = sides[0]
    b = sides[1]
    notes: list[str] = []
    if accuracy != ACCURACIES[0]:
        notes.append("full accuracy is over all pairs: no validation accuracy")
    continuous = _continuous_width(a, b)
    if continuous:
        a, b = (side.without(side.has_width, NO_WIDTH) for side in (a, b))
    if any("group" in side for side in (a, b)):
        a, b = (_with_groups(side) for side in (a, b))
    shared: list[str] = []
    apart: list[str] = []
    for key in MATCHED:
        if key == "width" and continuous:
            continue
        if not all(key in side for side in (a, b)):
            for without, having in ((a, b), (b, a)):
                values: list[object] = [NOTHING]
                if key in having:
                    values = _values(having[key])
                if values != [NOTHING]:
                    notes.append(
                        f"{without.name} has no column {key}: taken to be {_listed(values)}, as in "
                        f"{having.name}"
                    )
            continue
        ours, theirs = (_values(side[key]) for side in (a, b))
        common = set(ours) & set(theirs)
        if not common:
            described = f"{_listed(ours, key)} in {a.name}, {_listed(theirs, key)} in {b.name}"
            if same_settings:
                raise InputError(f"no runs to compare: {key} is {described}")
            apart.append(f"{key} differs: {described}")
            continue
        a, b = _keep(a, key, common, b.name), _keep(b, key, common, a.name)
        if len(common) > 1:
            shared.append(key)
    if "group" in shared and "modulus" in shared:
        shared.remove("modulus")  # the group's name says it
    groups = _groups(a, b, shared)
    labels = {group.label for group in groups}
    why = "no run of its settings on the other side"
    a = a.without(_label(a, shared).isin(labels), why)
    b = b.without(_label(b, shared).isin(labels), why)
    if not groups:
        raise InputError(
            f"no runs to compare: {a.name} and {b.name} share no combination of {', '.join(shared)}"
        )
    return Matched(
        (a, b),
        groups,
        continuous,
        (*notes, *apart, *_differences(a, b), *_doubts(a, b)),
        tuple(apart),
    )


def _values(column: "pandas.Series[Any]") -> list[object]:
    """In order: numbers of all types together, as 0.5 lies between 0 and 1, then the rest."""
    values = {comparable_setting(value) for value in column.unique()}
    return sorted(values, key=_by_type_and_value)


def _by_type_and_value(value: object) -> tuple[str, object]:
    is_number = isinstance(value, int | float | numpy.number)
    return "" if is_number else str(type(value)), value


def _listed(values: list[object], key: str = "") -> str:
    texts = [_yes_no(value) if key in FLAGS else str(value) for value in values]
    if len(texts) <= MOST_LISTED:
        return ", ".join(texts)
    return f"{texts[0]} to {texts[-1]} ({len(texts)} values)"


def _keep(side: Runs, key: str, common: set[object], other_name: str) -> Runs:
    """The runs whose setting has one of the common values."""
    values = side[key].map(comparable_setting)
    left_out = [value for value in _values(side[key]) if value not in common]
    reason = f"{key.replace('_', ' ')} {_listed(left_out, key)}: not in {other_name}"
    return side.without(values.isin(common), reason)


def _label(runs: Runs, keys: list[str]) -> "pandas.Series[str]":
    import pandas

    label = pandas.Series("", index=runs.frame.index, dtype=object)
    for position, key in enumerate(keys):
        as_text: Callable[[object], str] = _yes_no if key in FLAGS else str
        settings = runs[key] if key == "group" else runs[key].map(comparable_setting)
        values = settings.map(as_text)
        comma = ", " if position else ""
        label = label + f"{comma}{key.replace('_', ' ')} " + values
    return label


def _yes_no(value: object) -> str:
    if isinstance(value, int) and value in (0, 1):
        return "yes" if value else "no"
    return str(value)


def _groups(a: Runs, b: Runs, keys: list[str]) -> tuple[MatchedRuns, ...]:
    ours = _label(a, keys)
    theirs = _label(b, keys)
    groups = []
    for label in sorted(set(ours) & set(theirs)):
        runs = _with_values(a.where(ours == label)), _with_values(b.where(theirs == label))
        circular = all(side.has_circularity for side in runs)
        groups.append(MatchedRuns(label, runs, circular))
    return tuple(groups)


def _with_groups(runs: Runs) -> Runs:
    """With the group of every run, where the table says at least its modulus."""
    if "group" in runs or "modulus" not in runs:
        return runs
    return replace(runs, frame=runs.frame.assign(group=group_names(runs.frame)))


def _with_values(runs: Runs) -> Runs:
    """Without metrics that none of these runs has, such as those of another architecture."""
    empty = [name for name in METRICS if name in runs and runs[name].isna().all()]
    return replace(runs, frame=runs.frame.drop(columns=empty))


def _differences(a: Runs, b: Runs) -> list[str]:
    """Settings that are not matched, but that a reader should know to differ."""
    notes = []
    for key in NOTED:
        if key not in a or key not in b:
            continue
        ours = _values(a[key])
        theirs = _values(b[key])
        if ours != theirs:
            notes.append(
                f"{key} differs: {_listed(ours)} in {a.name}, {_listed(theirs)} in {b.name}"
            )
    return notes


def _continuous_width(a: Runs, b: Runs) -> bool:
    return all(side.continuous_width for side in (a, b))


def _doubts(a: Runs, b: Runs) -> list[str]:
    """What would make the tests answer another question than whether the outcomes are alike."""
    doubts = []
    spread = [("_rate", "attention rates", "read the tenths with care")]
    if _continuous_width(a, b):
        spread.append(
            ("width", "widths", "a tenth of the rate has other widths; read the tests by width")
        )
    for column, name, advice in spread:
        ours, theirs = (side[column].dropna().to_numpy(float) for side in (a, b))
        if not len(ours) or not len(theirs):
            continue
        distance, p = same_distribution(ours, theirs)
        if p < 0.01:
            doubts.append(
                f"the {name} are spread differently (distance {distance:.2f}, p = {p:.1g}): "
                f"{advice}"
            )
    if "run_id" in a and "run_id" in b:
        both = len(set(a["run_id"].dropna()) & set(b["run_id"].dropna()))
        if both:
            doubts.append(
                f"{both} runs have the same settings and seed on both sides; the tests assume "
                "independent runs"
            )
    return doubts
