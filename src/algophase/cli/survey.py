"""`algophase survey`: every network in a tree of folders, as one table."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli.options import (
    Activation,
    AttentionRate,
    Device,
    FileGroup,
    FileModulus,
    Format,
    MinAccuracy,
    Operation,
    State,
)
from algophase.cli.output import CommandBar, echo, typed
from algophase.core.wording import counted

if TYPE_CHECKING:
    import pandas

    from algophase.runs.runs import Runs
    from algophase.surveys.survey import Surveyed

EXAMPLE = "algophase survey networks/ -o networks.parquet"
MOST_NAMED = 10  # files that could not be read
STATED = ("file", "path", "option")  # where an attention rate is from that nobody assumed
SOURCES = {
    "assumed": "assumed to be 1, which the file does not say",
    "unknown": "unknown (--setting or --attention-rate says it)",
}
FEWEST = 20  # accurate networks for a phase boundary to be fitted
FEWEST_RATES = 5  # and different rates


def survey(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders with networks, or files.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="TABLE", help="The table to write: FILE.parquet."),
    ] = Path("networks.parquet"),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            metavar="NAME=PATTERN",
            help="A setting whose number stands in the paths of files, at {}: "
            "attention_rate=model_B_{}. What a file or its config says comes first.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes.", show_default="one per core, at most 8"),
    ] = None,
    device: Device = "auto",
    min_accuracy: MinAccuracy = 1.0,
    format: Format = None,
    activation: Activation = None,
    operation: Operation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Analyze every network in folders and their folders, and write one table of them.

    A second call analyzes what is new or changed, by the digests of the files and their configs;
    a call that was interrupted goes on. `runs`, `explore`, `report`, `compare` and `laws` take
    the table. Files that cannot be read are listed beside it, in NAME.unread.csv, with the reason.
    """
    from algophase.analysis.verdict.thresholds import Thresholds
    from algophase.core.errors import InputError
    from algophase.storage.formats.contents import Reading
    from algophase.surveys.survey import make_survey
    from algophase.surveys.tree import PathRule

    if operation is not None and group is not None:
        raise InputError("choose one of --operation and --group; a group has one operation")
    with CommandBar() as bar:
        surveyed = make_survey(
            paths,
            out,
            rules=[PathRule.parse(text) for text in settings or []],
            reading=Reading(format, activation, attention_rate, modulus, state, group),
            operation=operation,
            thresholds=Thresholds(accuracy=min_accuracy),
            workers=workers,
            device=device,
            progress=bar,
            command=typed(),
        )
    echo("\n".join(_summary(surveyed)))


def _summary(surveyed: "Surveyed") -> list[str]:
    from algophase.runs.runs import Runs

    runs = Runs.read(surveyed.table)
    frame = runs.frame
    labels = frame["verdict"].dropna() if "verdict" in frame else []
    counts = Counter[Any](labels)
    verdicts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    undecided = len(frame) - sum(counts.values())
    if undecided:
        verdicts.append(f"{undecided} undecided")
    head = f"{counted(surveyed.rows, 'network')} ({surveyed.new} new): {', '.join(verdicts)}"
    lines = [head, *_boundaries(runs), f"table: {surveyed.table}"]
    if "rate_from" in frame:
        for source, words in SOURCES.items():
            count = int((frame["rate_from"] == source).sum())
            if count:
                lines.append(f"attention rate {words}: {counted(count, 'network')}")
    unknown = _number_without_activation(frame)
    if unknown:
        lines.append(f"activation unknown: {counted(unknown, 'network')}")
    if surveyed.gone:
        lines.append(f"gone since the last call: {counted(surveyed.gone, 'network')}")
    lines += _unread(surveyed)
    return lines


def _boundaries(runs: "Runs") -> list[str]:
    """Where half of the networks are Pizzas, and where half are Clocks: of each population that is
    large enough, by networks whose attention rate is known.
    """
    from algophase.runs.runs import VERDICTS

    if "rate_from" not in runs or "verdict" not in runs:
        return []
    lines = []
    groups = list["Runs"]()
    for population in runs.where(runs["rate_from"].isin(STATED)).groups():
        groups += _by_width(population)
    for group in groups:
        accurate = group.accurate
        if len(accurate) < FEWEST or accurate["_rate"].nunique() < FEWEST_RATES:
            continue
        fits = {verdict: accurate.boundary(verdict) for verdict in VERDICTS}
        texts = [f"{verdict}s at {fit}" for verdict, fit in fits.items() if fit.within]
        if texts:
            of = f"{counted(len(accurate), 'network')}{', ' if group.label else ''}{group.label}"
            lines.append(f"by attention rate, half are {' and '.join(texts)} ({of})")
    return lines


def _by_width(group: "Runs") -> list["Runs"]:
    """Networks of many widths, those of the most common width apart: a boundary depends on width.
    Groups have one width each otherwise.
    """
    if not group.continuous_width:
        return [group]
    widths = group["width"]
    most_common = widths.mode()[0]
    has_it = widths == most_common
    if has_it.sum() < FEWEST:
        return [group]
    prefix = f"{group.label}, " if group.label else ""
    parts = {f"width {most_common:g}": has_it, "other widths": ~has_it}
    return [replace(group.where(mask), label=f"{prefix}{name}") for name, mask in parts.items()]


def _number_without_activation(frame: "pandas.DataFrame") -> int:
    """How many MLPs have several activations that go with what their files say."""
    if "activation" not in frame or "kind" not in frame:
        return 0
    return int((frame["activation"].isna() & (frame["kind"] == "mlp")).sum())


def _unread(surveyed: "Surveyed") -> list[str]:
    """The files without a row, in short."""
    lines = []
    not_networks = len(surveyed.problems) - len(surveyed.unreadable)
    skipped = [f"{count} {suffix}" for suffix, count in surveyed.others.most_common()]
    if not_networks:
        skipped.append(f"{counted(not_networks, 'file')} with something else inside")
    if skipped:
        lines.append(f"skipped, as they are no networks: {', '.join(skipped)}")
    if surveyed.unreadable:
        count = counted(len(surveyed.unreadable), "file")
        lines.append(f"not read: {count}, with the reasons in {surveyed.list}")
        for problem in surveyed.unreadable[:MOST_NAMED]:
            reason = problem["reason"]
            short = reason if len(reason) <= 100 else f"{reason[:97]}..."
            lines.append(f"  {problem['path']}: {short}")
        if len(surveyed.unreadable) > MOST_NAMED:
            lines.append(f"  and {len(surveyed.unreadable) - MOST_NAMED} more")
    return lines
