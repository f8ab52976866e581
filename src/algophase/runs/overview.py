"""What a runs table holds, in a few lines: which space, how far, which verdicts, where the runs
come from.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from algophase.analysis.verdict.decide import in_order
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.lines import reaches
from algophase.core.settings import (
    SECTIONS,
    LinearSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.runs.selection import Columns

if TYPE_CHECKING:
    import pandas

NEEDED = (
    "verdict",
    "paper_label",
    "diverged_at",
    "validation_accuracy",
    "circularity",
)  # what the lines below look at
METRICS = ("validation_accuracy", "circularity", "gradient_symmetricity", "distance_irrelevance")
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
    sections = [space.get(section) for section in SECTIONS]
    return [
        name
        for section in sections
        if isinstance(section, dict)
        for name, rule in section.items()
        if isinstance(rule, dict)
    ]


def setting_names() -> list[str]:
    """Every column that is a setting, but for the seed."""
    kinds = (TaskSettings(), TransformerSettings(), LinearSettings(), TrainingSettings())
    return list(
        dict.fromkeys(
            [
                "kind",
                *(name for settings in kinds for name in settings.to_dict()),
                "operation",
                "outputs",
            ]
        )
    )


def is_finished(indices: Sequence[int], sittings: Sequence[Mapping[str, Any]] = ()) -> bool:
    """Whether these are the first runs of a space, without a gap, or the first ones of the parts
    (`--part`) that were made.
    """
    finished = set(indices)
    first_ones: set[int] = set()
    for number, count in _parts(sittings):
        of_part = itertools.count(number - 1, count)
        first_ones.update(itertools.takewhile(finished.__contains__, of_part))
    return finished == first_ones


def _parts(sittings: Sequence[Mapping[str, Any]]) -> set[tuple[int, int]]:
    """The parts that shards say they are of; one that does not say is of the whole."""
    parts = {_part(sitting.get("part")) for sitting in sittings}
    return parts or {(1, 1)}


def _part(value: object) -> tuple[int, int]:
    match value:
        case [int(number), int(count)] if number > 0 and count > 0:
            return number, count
    return 1, 1


def outcomes(verdicts: Sequence[object], columns: Columns) -> list[str]:
    """What became of each run: its verdict. One without has diverged, or could not be analyzed."""
    diverged = columns.get("diverged_at", [None] * len(verdicts))
    none = ["not analyzed" if epoch is None else "diverged" for epoch in diverged]
    return [
        str(verdict) if verdict else instead
        for verdict, instead in zip(verdicts, none, strict=True)
    ]


def outcome(row: Mapping[str, Any]) -> str:
    return outcomes(
        [row.get("verdict") or row.get("paper_label")], {"diverged_at": [row.get("diverged_at")]}
    )[0]


def verdict_column(columns: "Columns | pandas.DataFrame") -> str:
    """Which column says what a run learned: `verdict`, or `paper_label` in tables where some
    runs have that alone.
    """
    labels = columns.get("paper_label")
    if labels is None:
        return "verdict"
    verdicts = columns.get("verdict", [None] * len(labels))
    pairs = zip(labels, verdicts, strict=True)
    return (
        "paper_label"
        if any(isinstance(label, str) and not isinstance(own, str) for label, own in pairs)
        else "verdict"
    )


def verdict_counts(columns: Columns, column: str = "verdict") -> Counter[str]:
    return Counter(outcomes(columns[column], columns))


def unfair_sample(
    space: Mapping[str, Any], indices: Sequence[int], sittings: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Why these runs are no fair sample of their space; "" if they are one."""
    changing = [name for name in varying(space) if name not in TOGETHER]
    if is_finished(indices, sittings) or not changing:
        return ""
    return (
        "ensembles train one shape after the other: "
        f"as {', '.join(changing)} varies, these runs are not a fair sample of the space"
    )


def describe_space(
    description: Mapping[str, Any], columns: Columns, sittings: Sequence[Mapping[str, Any]] = ()
) -> list[str]:
    """The space, how many of its runs are there, and whether they are a fair sample of it.
    sittings: what its shards say.
    """
    space = description["space"]
    seed = description["seed"]
    indices = columns["index"]
    title = f" ({space['title']})" if space.get("title") else ""
    planned = space.get("runs")
    of = f" of the {planned:,}" if isinstance(planned, int) and len(indices) <= planned else ""
    lines = [f"space {space.get('name')}{title}, seed {seed}: {len(indices):,}{of} runs"]
    if not is_finished(indices, sittings):
        lines.append(
            f"unfinished: runs between index {min(indices):,} and {max(indices):,} are missing"
        )
        unfair = unfair_sample(space, indices, sittings)
        if unfair:
            lines.append(unfair)
    return lines


def describe_outcomes(columns: Columns, thresholds: Thresholds = Thresholds()) -> list[str]:
    """Shares of the verdicts, of runs at full validation accuracy, and of circular ones among
    those.
    """
    lines = []
    column = verdict_column(columns)
    for name, start in (("verdict", ""), ("paper_label", "by the paper's rules: ")):
        if columns.get(name) and name in (column, "paper_label"):
            counts = verdict_counts(columns, name)
            total = counts.total()
            shares = [f"{verdict} {_share(counts[verdict], total)}" for verdict in in_order(counts)]
            lines.append(start + ", ".join(shares))
    accuracies = columns.get("validation_accuracy", [])
    full = []  # rows at full accuracy
    for row, accuracy in enumerate(accuracies):
        if isinstance(accuracy, int | float) and reaches(accuracy, 1):
            full.append(row)
    if accuracies:
        line = f"full validation accuracy {_share(len(full), len(accuracies))}"
        circularities = columns.get("circularity", [None] * len(accuracies))
        defined = [circularities[row] for row in full if circularities[row] is not None]
        if defined:
            circular = sum(reaches(value, thresholds.circularity) for value in defined)
            line += f", of which circular {_share(circular, len(defined))}"
        elif full:
            line += ", circularity undefined"
        lines.append(line)
    return lines


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})"


def days(sittings: Sequence[Mapping[str, Any]]) -> str:
    """The day, or the first and the last, on which runs were made; "" where none is known."""
    dates = sorted(str(sitting["date"])[:10] for sitting in sittings if sitting.get("date"))
    if not dates:
        return ""
    first = dates[0]
    last = dates[-1]
    return first if first == last else f"{first} to {last}"


def describe_origin(sittings: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each device and version of the code that made runs."""
    by_origin: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for sitting in sittings:
        key = tuple(str(sitting.get(name) or "unknown") for name in ("device", "commit", "version"))
        by_origin.setdefault(key, []).append(sitting)  # type: ignore[arg-type]
    lines = []
    for (device, commit, version), records in by_origin.items():
        when = days(records) or "at an unknown date"
        runs = sum(record["runs"] for record in records if isinstance(record.get("runs"), int))
        lines.append(
            f"made {when} on {device} by version {version}, commit {commit}: {runs:,} runs"
        )
    return lines
