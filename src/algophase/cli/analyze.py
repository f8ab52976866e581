"""`algophase analyze`: which algorithm networks learned, with the evidence."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli import completion
from algophase.cli.options import (
    NETWORKS,
    Activation,
    AsJson,
    AttentionRate,
    FigureFormat,
    Figures,
    FileGroup,
    FileModulus,
    Format,
    ImageFormat,
    MinAccuracy,
    Operation,
    State,
)
from algophase.cli.output import CommandBar, Drawer, check_writable, complain, echo, typed
from algophase.core.errors import InputError, one_line
from algophase.core.wording import counted
from algophase.pages.table import Table

if TYPE_CHECKING:
    from algophase.analysis.hidden.look_inside import Inside
    from algophase.analysis.result import Analysis
    from algophase.core.answers import Learned
    from algophase.networks import Network

EXAMPLE = "algophase analyze clock pizza --figures pictures/"
TABLE_FORMATS = (".parquet", ".csv")


def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=f"Networks: {NETWORKS}, or directories of them.",
            autocompletion=completion.networks,
        ),
    ],
    as_json: AsJson = False,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json-lines", help="Print one JSON object per line, as each network is finished."
        ),
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write a table, one row per network: FILE.parquet or FILE.csv.",
        ),
    ] = None,
    figures: Figures = None,
    figure_format: FigureFormat = ImageFormat.png,
    min_accuracy: MinAccuracy = 1.0,
    format: Format = None,
    activation: Activation = None,
    operation: Operation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden",
            help="Also analyze the first hidden layer: shapes, phases, progress measures, and the "
            "network without interactions.",
        ),
    ] = False,
    betti: Annotated[
        bool,
        typer.Option(
            "--betti",
            help="With --hidden: also Betti numbers of the shapes, a few seconds per network. "
            "Needs algophase\\[topology].",
        ),
    ] = False,
) -> None:
    """Say which algorithm networks learned, with the evidence. With --json, one object per network.

    After several networks, a table lists all of them. An unusable file prints a one-line error and
    the other files are still analyzed; the exit code is then 1. The same happens if a network
    learned another operation than expected. After Ctrl-C, --json and --table have what is
    finished; the exit code is then 130.
    """
    from algophase.analysis.hidden.look_inside import look_inside
    from algophase.analysis.hidden.topology import import_ripser
    from algophase.analysis.presentation import network_text
    from algophase.analysis.verdict.thresholds import Thresholds
    from algophase.pages.summary import summary
    from algophase.storage.analyses import Unusable, analyze_files, network_files
    from algophase.storage.formats.contents import Reading
    from algophase.surveys.network_row import row_of_network

    if as_json and json_lines:
        raise InputError("choose one of --json and --json-lines; both print the same records")
    if operation is not None and group is not None:
        raise InputError("choose one of --operation and --group; a group has one operation")
    if table is not None and table.suffix not in TABLE_FORMATS:
        raise InputError(
            f"the table is {table}; give a name that ends in {' or '.join(TABLE_FORMATS)}"
        )
    if betti and not hidden:
        raise InputError("--betti needs --hidden: it counts the holes of the shapes there")
    check_writable(figures, table)
    if betti:
        import_ripser()  # say what is missing before anything is computed
    files, problems = network_files(paths)
    for problem in problems:
        complain(problem)
    draw = Drawer(figures, figure_format)
    reading = Reading(format, activation, attention_rate, modulus, state, group)
    failed = len(problems)
    records = list[dict[str, Any]]()
    rows = list[dict[str, Any]]()
    closing: list[tuple[str, Analysis]] = []
    try:
        with CommandBar() as bar:
            for outcome in analyze_files(
                files, Thresholds(accuracy=min_accuracy), bar, reading, operation
            ):
                if isinstance(outcome, Unusable):
                    bar.complain(outcome.problem)
                    failed += 1
                    continue
                network = outcome.network
                analysis = outcome.analysis
                name = outcome.name
                if analysis.instead is not None:
                    bar.complain(f"{outcome.source}: {_learned_instead(network, analysis.instead)}")
                    failed += 1
                try:
                    looked_at = network if analysis.subject is None else analysis
                    hidden_layer = look_inside(looked_at, betti=betti) if hidden else None
                except Exception as error:
                    bar.complain(
                        f"{outcome.source}: its hidden layer cannot be analyzed: {_reason(error)}"
                    )
                    failed += 1
                    hidden_layer = None
                if as_json:
                    records.append(_record(outcome.source, network, analysis, hidden_layer))
                elif json_lines:
                    echo(json.dumps(_record(outcome.source, network, analysis, hidden_layer)))
                elif (
                    analysis.instead is None
                ):  # numbers about a task that it did not learn would mislead
                    bar.console.file.flush()
                    lines = [
                        summary(network_text(analysis), name),
                        *([] if hidden_layer is None else hidden_layer.lines()),
                    ]
                    echo("\n".join(lines) + "\n")
                    closing.append((name, analysis.without_subject()))
                if table is not None:
                    rows.append(
                        row_of_network(name, outcome.source, network, analysis, hidden_layer)
                    )
                try:
                    draw(network, analysis)
                except Exception as error:
                    bar.complain(
                        f"{outcome.source}: its pictures cannot be drawn: {_reason(error)}"
                    )
                    failed += 1
    finally:  # what is finished, after Ctrl-C too
        if as_json:
            echo(json.dumps(records, indent=2))
        if table is not None and rows:
            _write_table(table, rows)
    if len(closing) > 1:
        echo("\n".join(_closing_table(closing)))
    if failed:
        raise typer.Exit(1)


def _reason(error: Exception) -> str:
    """Why one network cannot be shown; the others still are."""
    return str(error) if isinstance(error, InputError) else one_line(error)


def _learned_instead(network: "Network", instead: "Learned") -> str:
    how = f"; analyze it with --operation {instead.asked_as}" if instead.asked_as else ""
    return f"it did not learn {network.task.described}: {instead.sentence}{how}"


def _record(
    source: Path, network: "Network", analysis: "Analysis", hidden_layer: "Inside | None"
) -> dict[str, Any]:
    """One network as --json has it."""
    from algophase.surveys.network_row import network_settings

    settings = network_settings(network)
    record = {"id": analysis.id, "path": str(source), **settings, **analysis.to_dict()}
    if hidden_layer is not None:
        record["hidden_layer"] = hidden_layer.to_dict()
    return record


def _write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    from algophase.runs.columns import frame_of_rows
    from algophase.runs.csv_text import csv_text
    from algophase.storage.files import write_atomically
    from algophase.surveys.table import encode_rows, of_one_type

    rows = of_one_type(rows)
    frame = frame_of_rows(rows)
    if path.suffix == ".csv":
        content = csv_text(frame).encode()
    else:
        content = encode_rows(rows, {"command": typed()})
    write_atomically(path, content)
    size = f"{counted(len(rows), 'network')} with {len(frame.columns)} columns"
    echo(f"wrote {size} to {path}", err=True)


def _closing_table(analyses: Sequence[tuple[str, "Analysis"]]) -> list[str]:
    """All networks at a glance: name, verdict, accuracy, and what tells them apart."""
    from algophase.analysis.presentation import columns_at_a_glance

    columns = columns_at_a_glance([analysis for _, analysis in analyses])
    head = ["network", "verdict", *columns.heads]
    rows = []
    for (name, analysis), cells in zip(analyses, columns.rows, strict=True):
        rows.append([name, analysis.label, *cells])
    title = counted(len(analyses), "network")
    table = Table(head, rows, numbers=range(2, len(head)))
    return [title, "=" * len(title), *table.lines(indent=2)]
