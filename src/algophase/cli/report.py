"""`algophase report`: networks and sweeps as one page that opens without a network connection."""

from pathlib import Path
from typing import Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import (
    NETWORKS,
    Activation,
    AttentionRate,
    FileGroup,
    FileModulus,
    Format,
    MinAccuracy,
    Released,
    State,
)
from algophase.cli.output import CommandBar, check_writable, echo

EXAMPLE = "algophase report clock pizza fixed-width -o report.html"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=f"Networks ({NETWORKS}, or directories of them) and sweeps (directories, "
            "Parquet files).",
            autocompletion=completion.networks_and_sweeps,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = Path("report.html"),
    population: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Show networks among the runs of this sweep.",
            show_default="the gallery's fixed-width, for networks of its kind",
        ),
    ] = None,
    released: Released = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The page's title.", show_default="its contents"),
    ] = None,
    min_accuracy: MinAccuracy = 1.0,
    format: Format = None,
    activation: Activation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Write one HTML page about networks and sweeps: verdicts with their evidence, phase diagrams,
    comparisons.

    An unusable file prints a one-line error and the rest is still written; the exit code is then 1.
    """
    from algophase.reports.make import report as make_report

    check_writable(None, out)
    with CommandBar() as bar:
        written = make_report(
            paths,
            out,
            population=population,
            released=released,
            title=title,
            min_accuracy=min_accuracy,
            progress=bar,
            format=format,
            activation=activation,
            attention_rate=attention_rate,
            modulus=modulus,
            state=state,
            group=group,
        )
    echo(f"report: {out} ({written.contents}, {written.size / 1e6:.1f} MB)")
    if written.problems:
        raise typer.Exit(1)
