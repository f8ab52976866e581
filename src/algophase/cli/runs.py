"""`algophase runs`: list the runs of a table, filtered and sorted, or export them."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli import completion
from algophase.cli.output import echo
from algophase.core.errors import InputError
from algophase.core.wording import printable
from algophase.pages.table import Table

if TYPE_CHECKING:
    import pandas

    from algophase.storage.runs_table import OpenTable

EXAMPLE = 'algophase runs fixed-width --where "attention_rate<0.5" --limit 5'
SHOWN = 20  # rows by default
WIDEST = 40  # characters of a cell


def runs(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="A sweep's directory, a Parquet file, or a shipped sweep; without it, list the "
            "shipped ones.",
            show_default=False,
            autocompletion=completion.sweeps,
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Only runs with COLUMN =, !=, <, <=, > or >= VALUE (a number, text, true, "
            "false, null); repeat for several.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns, by name.",
            show_default="varying settings, verdict and metrics",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Sort by this column; -COLUMN sorts from high to low.",
            show_default="index",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Largest number of rows; 0 for all.",
            show_default=f"{SHOWN}, all in an export",
        ),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write the runs as CSV, all columns unless chosen; - to standard output.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the runs as a JSON list, all columns unless chosen."),
    ] = False,
) -> None:
    """Describe a sweep's table, then list the runs you ask for. Without a table, list the shipped
    tables.

    A condition is never executed as code. A missing value matches =null, and != any other value.
    """
    from algophase.core.gallery import shipped_sweeps
    from algophase.runs.overview import NEEDED
    from algophase.runs.read_runs import read_frame
    from algophase.runs.selection import check_columns, read_condition, select
    from algophase.storage.files import shipped
    from algophase.storage.runs_table import OpenTable

    if csv is not None and as_json:
        raise InputError("choose one of --csv and --json; both export the same runs")
    if path is None:
        asked_for = {
            "--where": where,
            "--columns": columns,
            "--sort": sort,
            "--limit": limit,
            "--csv": csv,
        }
        options = [
            option
            for option, value in {**asked_for, "--json": as_json or None}.items()
            if value is not None
        ]
        if options:
            raise InputError(
                f"{options[0]} needs a table: name one of {', '.join(shipped_sweeps())}, or a "
                "directory"
            )
        for line in _shipped_tables():
            echo(line)
        return
    conditions = [read_condition(text) for text in where or []]
    path = shipped(path)
    table_file = OpenTable(path)
    available = table_file.column_names
    chosen = None
    if columns is not None:
        chosen = [name.strip() for name in columns.split(",") if name.strip()]
    if chosen == []:
        raise InputError(f"columns is {columns!r}; name at least one column, or omit the option")
    asked = list(chosen or [])
    asked += [condition.column for condition in conditions]
    if sort:
        asked.append(sort.removeprefix("-"))
    check_columns(asked, available)
    if csv is not None or as_json:
        table = read_frame(table_file, None if chosen is None else asked)
        matching = select(table, conditions, sort)[: limit or None]
        names = list(dict.fromkeys(chosen or table))
        _export(table[names].iloc[matching], csv, _rows(table))
        return
    listed = list(dict.fromkeys(chosen or _handful(path, table_file)))
    needed = [name for name in NEEDED if name in available]
    table = read_frame(table_file, [*needed, *listed, *asked])
    matching = select(table, conditions, sort)
    for line in [*_header(path, table, table_file.calls()), ""]:
        echo(line)
    if conditions:
        meant = " and ".join(map(str, conditions))
        echo(f"{len(matching):,} of {len(table):,} {_rows(table)} meet {meant}")
    most = SHOWN if limit is None else limit
    rows = matching[: most or None]
    if len(rows):
        echo(_table(table[listed].iloc[rows]).text())
    if len(rows) < len(matching):
        more = f"and {len(matching) - len(rows):,} more"
        choice = f"--columns chooses among {len(available)} columns"
        echo(f"{more} (--limit 0 shows all; {choice})")


def _shipped_tables() -> list[str]:
    """One line for each: its name, its runs, what they learned, what it is."""
    from algophase.core.gallery import default_gallery
    from algophase.runs.populations import find_sweeps, read_population

    gallery = default_gallery()
    head = ["table", "runs", "Pizza", "hybrid", "Clock", "what it is"]
    rows = []
    for path in [] if gallery is None else find_sweeps(gallery):
        population = read_population(path)
        counts = [f"{population.counts.get(verdict, 0):,}" for verdict in head[2:5]]
        rows.append([population.name, f"{population.runs:,}", *counts, population.about])
    if not rows:
        return ["this copy of the package has no shipped tables"]
    return [
        *Table(head, rows, numbers=(1, 2, 3, 4)).lines(indent=2),
        "",
        "algophase runs NAME lists one, algophase explore NAME opens it in a browser",
    ]


def _handful(path: Path, table_file: "OpenTable") -> list[str]:
    """The columns to show by default: the run, what varies, the outcome."""
    from algophase.runs.columns import varies
    from algophase.runs.overview import GROUP_METRICS, METRICS, SETTING_NAMES, varying
    from algophase.runs.read_runs import read_frame
    from algophase.storage.sweep_directory import SweepDirectory

    available = table_file.column_names
    if path.is_dir() and SweepDirectory(path).exists:
        settings = varying(SweepDirectory(path).description()["space"])
    else:
        names = [name for name in SETTING_NAMES if name in available]
        table = read_frame(table_file, names)
        settings = [name for name in names if varies(table[name].astype(str))]
    if "group" in settings and "modulus" not in settings:
        settings.append("modulus")  # it names the groups that are cyclic
    verdict = "verdict" if "verdict" in available else "paper_label"
    measured = list(METRICS)
    if GROUP_METRICS[0] in available:
        on_groups = read_frame(table_file, GROUP_METRICS[:1])[GROUP_METRICS[0]].notna()
        if on_groups.all():  # the paper's metrics mean nothing there
            measured = ["validation_accuracy", *GROUP_METRICS]
        elif on_groups.any():
            measured += GROUP_METRICS
    names = ["index", "run_id", "epoch", *settings, verdict, *measured]
    in_table = [name for name in names if name in available]
    return in_table or list(available)[:8]


def _rows(table: "pandas.DataFrame") -> str:
    """What a row is."""
    from algophase.storage.runs_table import are_moments

    return "moments" if are_moments(table.columns) else "runs"


def _header(path: Path, table: "pandas.DataFrame", calls: Sequence[Mapping[str, Any]]) -> list[str]:
    from algophase.runs.overview import describe_origin, describe_outcomes, describe_space
    from algophase.storage.sweep_directory import SweepDirectory

    lines = []
    if path.is_dir() and SweepDirectory(path).exists and "index" in table:
        description = SweepDirectory(path).description()
        lines = describe_space(description, table["index"].tolist(), calls)
    if not lines:
        of = f" of {table['run_id'].nunique():,} runs" if _rows(table) == "moments" else ""
        lines = [f"{len(table):,} {_rows(table)}{of}"]
    return [*lines, *describe_outcomes(table), *describe_origin(calls)]


def _table(frame: "pandas.DataFrame") -> Table:
    """Rows as they are printed, with numbers on the right."""
    from algophase.runs.columns import python_values

    columns = [python_values(frame[name]) for name in frame]
    numbers = []
    for column, values in enumerate(columns):
        if not any(isinstance(value, str | list) for value in values):
            numbers.append(column)
    cells = [[_cell(value) for value in row] for row in zip(*columns, strict=True)]
    return Table(list(frame), cells, numbers)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        is_moderate = value == 0 or 1e-3 <= abs(value) < 1e6
        return f"{value:.4f}" if is_moderate else f"{value:.3g}"
    text = " ".join(map(_cell, value)) if isinstance(value, list) else str(value)
    text = printable(text).replace("\n", "?")
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _export(frame: "pandas.DataFrame", csv: str | None, what: str) -> None:
    if csv is None:
        from algophase.runs.columns import records

        echo(json.dumps(records(frame), indent=1, default=str))
        return
    from algophase.runs.csv_text import csv_text

    text = csv_text(frame)
    if csv == "-":
        # Not by typer, which cuts color codes out of text: what follows one could be a formula
        # then.
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
        return
    from algophase.storage.files import write_atomically

    write_atomically(Path(csv), text.encode())
    echo(f"wrote {len(frame):,} {what} with {len(frame.columns)} columns to {csv}")
