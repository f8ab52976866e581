"""What a runs table holds, in a few lines: which space, how far, which verdicts, where the runs
come from.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.lines import reaches
from algophase.core.palette import in_order
from algophase.core.settings import (
    SECTIONS,
    TRAINING_CHOICES,
    LinearSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.runs.columns import numbers_or_missing, on_other_groups

if TYPE_CHECKING:
    import pandas

NEEDED = (
    "verdict",
    "paper_label",
    "diverged_at",
    "validation_accuracy",
    "circularity",
    "group",
)  # what the lines below look at
DIVERGED, NOT_ANALYZED = "diverged", "not analyzed"  # in place of a verdict
METRICS = ("validation_accuracy", "circularity", "gradient_symmetricity", "distance_irrelevance")
# The same for groups that are not cyclic
GROUP_METRICS = ("on_group.name", "additivity", "on_group.shares.characters")
TOGETHER = (
    "attention_rate",
    "learning_rate",
    "weight_decay",
    "beta1",
    "beta2",
    "epsilon",
    "warmup_steps",
)  # share an ensemble


def varying(space: Mapping[str, Any]) -> list[str]:
    """The settings of a space, as a sweep's file has it, that differ between runs."""
    names = []
    for section in SECTIONS:
        rules = space.get(section)
        if isinstance(rules, dict):
            names += [name for name, rule in rules.items() if isinstance(rule, dict)]
        for arm in space.get("arms", []):
            names += arm.get(section, {})
    return list(dict.fromkeys(names))


def _setting_names() -> list[str]:
    names = ["kind"]
    for settings in (TaskSettings(), TransformerSettings(), LinearSettings(), TrainingSettings()):
        names += settings.to_dict()
    names += TRAINING_CHOICES
    return list(dict.fromkeys([*names, "operation", "outputs", "group"]))


# Every column that is a setting, but for the seed
SETTING_NAMES = _setting_names()


def is_finished(indices: Sequence[int], calls: Sequence[Mapping[str, Any]] = ()) -> bool:
    """Whether these are the first runs of a space, without a gap, or the first ones of the parts
    (`--part`) that were made.
    """
    finished = set(indices)
    first_ones: set[int] = set()
    for number, count in _parts(calls):
        of_part = itertools.count(number - 1, count)
        first_ones.update(itertools.takewhile(finished.__contains__, of_part))
    return finished == first_ones


def _parts(calls: Sequence[Mapping[str, Any]]) -> set[tuple[int, int]]:
    """The parts that shards say they are of; one that does not say is of the whole."""
    parts = {_part(call.get("part")) for call in calls}
    return parts or {(1, 1)}


def _part(value: object) -> tuple[int, int]:
    match value:
        case [int(number), int(count)] if number > 0 and count > 0:
            return number, count
    return 1, 1


def outcome(row: Mapping[str, Any]) -> str:
    """What became of a run: its verdict. One without has diverged, or could not be analyzed."""
    verdict = row.get("verdict") or row.get("paper_label")
    if verdict:
        return str(verdict)
    return NOT_ANALYZED if row.get("diverged_at") is None else DIVERGED


def outcomes(frame: "pandas.DataFrame", column: str = "verdict") -> "pandas.Series[str]":
    """What became of each run, by the verdicts of this column."""
    import pandas

    instead = pandas.Series(NOT_ANALYZED, index=frame.index, dtype=str)
    if "diverged_at" in frame:
        instead = instead.mask(frame["diverged_at"].notna(), DIVERGED)
    if column not in frame:
        return instead
    verdicts = frame[column]
    in_words = verdicts.astype(str)
    return in_words.where(verdicts.notna() & (in_words != ""), instead)


def verdict_column(frame: "pandas.DataFrame") -> str:
    """Which column says what a run learned: `verdict`, or `paper_label` in tables where some
    runs have that alone.
    """
    if "paper_label" not in frame:
        return "verdict"
    is_alone = _is_text(frame["paper_label"])
    if "verdict" in frame:
        is_alone &= ~_is_text(frame["verdict"])
    return "paper_label" if is_alone.any() else "verdict"


def name_of_verdicts(column: str) -> str:
    """What `verdict_column` holds, in words."""
    return "verdict" if column == "verdict" else "paper's label"


def _is_text(column: "pandas.Series[Any]") -> "pandas.Series[bool]":
    import pandas

    if isinstance(column.dtype, pandas.StringDtype):
        return column.notna()
    return column.map(lambda value: isinstance(value, str)).astype(bool)


def unfair_sample(
    space: Mapping[str, Any], indices: Sequence[int], calls: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Why these runs are no fair sample of their space; "" if they are one."""
    changing = [name for name in varying(space) if name not in TOGETHER]
    if is_finished(indices, calls) or not changing:
        return ""
    return (
        "ensembles train one shape after the other: "
        f"as {', '.join(changing)} varies, these runs are not a fair sample of the space"
    )


def describe_space(
    description: Mapping[str, Any],
    indices: Sequence[int],
    calls: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """The space, how many of its runs are there, and whether they are a fair sample of it.
    indices: of the runs. calls: of `sweep`, as its shards record them.
    """
    space = description["space"]
    seed = description["seed"]
    title = f" ({space['title']})" if space.get("title") else ""
    count = f"{len(indices):,}"
    planned = space.get("runs")
    if isinstance(planned, int) and len(indices) <= planned:
        count += f" of the {planned:,}"
    lines = [f"space {space.get('name')}{title}, seed {seed}: {count} runs"]
    if not is_finished(indices, calls):
        lines.append(
            f"unfinished: runs between index {min(indices):,} and {max(indices):,} are missing"
        )
        unfair = unfair_sample(space, indices, calls)
        if unfair:
            lines.append(unfair)
    return lines


def describe_outcomes(
    frame: "pandas.DataFrame", thresholds: Thresholds = Thresholds()
) -> list[str]:
    """Shares of the verdicts, of runs at full validation accuracy, and of circular ones among
    those.
    """
    lines = []
    column = verdict_column(frame)
    if column == "verdict" and column in frame and len(frame):
        lines.append(_shares(frame, column))
    cyclic = frame[~on_other_groups(frame)]  # the paper's rules are for addition modulo p
    if "paper_label" in frame and len(cyclic):
        lines.append(f"by the paper's rules: {_shares(cyclic, 'paper_label')}")
    if "validation_accuracy" not in frame or frame["validation_accuracy"].isna().all():
        return lines
    accurate = frame[reaches(numbers_or_missing(frame["validation_accuracy"]), 1)]
    line = f"full validation accuracy {_share(len(accurate), len(frame))}"
    defined = numbers_or_missing(accurate["circularity"]).dropna() if "circularity" in frame else []
    if len(defined):
        circular = int(reaches(defined, thresholds.circularity).sum())
        line += f", of which circular {_share(circular, len(defined))}"
    elif len(accurate):
        line += ", circularity undefined"
    return [*lines, line]


def _shares(frame: "pandas.DataFrame", column: str) -> str:
    counts = outcomes(frame, column).value_counts()
    names = in_order(counts.index)
    return ", ".join(f"{verdict} {_share(counts[verdict], len(frame))}" for verdict in names)


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})"


def days(calls: Sequence[Mapping[str, Any]]) -> str:
    """The day, or the first and the last, on which runs were made; "" where none is known."""
    dates = sorted(str(call["date"])[:10] for call in calls if call.get("date"))
    if not dates:
        return ""
    first = dates[0]
    last = dates[-1]
    return first if first == last else f"{first} to {last}"


def describe_origin(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each device and version of the code that made runs."""
    by_origin: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for call in calls:
        key = tuple(str(call.get(name) or "unknown") for name in ("device", "commit", "version"))
        by_origin.setdefault(key, []).append(call)  # type: ignore[arg-type]
    lines = []
    for (device, commit, version), records in by_origin.items():
        when = days(records) or "at an unknown date"
        runs = sum(record["runs"] for record in records if isinstance(record.get("runs"), int))
        lines.append(
            f"made {when} on {device} by version {version}, commit {commit}: {runs:,} runs"
        )
    return lines
