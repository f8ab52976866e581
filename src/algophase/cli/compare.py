"""`algophase compare`: are two populations of training runs the same?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import AsJson, Released
from algophase.cli.output import check_writable, echo
from algophase.core.errors import InputError

EXAMPLE = "algophase compare fixed-width --released 1l_fixedwidth.csv"
DIFFER = 3  # exit code; 2 means a wrong option, in every command


def compare(
    sweep: Annotated[
        Path,
        typer.Argument(
            metavar="SWEEP",
            help="A sweep: its directory, a Parquet file of runs, or a shipped one.",
            autocompletion=completion.sweeps,
        ),
    ],
    other: Annotated[
        Path | None,
        typer.Argument(
            metavar="OTHER",
            help="Another sweep to compare it with.",
            show_default=False,
            autocompletion=completion.sweeps,
        ),
    ] = None,
    released: Released = None,
    level: Annotated[
        float,
        typer.Option(help="Chance of calling two identical populations different, over all tests."),
    ] = 0.01,
    bootstrap: Annotated[
        int,
        typer.Option(metavar="N", help="Bootstrap resamples per boundary interval, at least 100."),
    ] = 2000,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Also draw the two populations: PATH.png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test whether two sets of training runs are the same population.

    It tests the shares of runs at full accuracy and with circles, the metrics in each tenth of
    the attention rate, by depth and width, and the phase boundaries.

    The exit code is 0 if they are indistinguishable, 3 if they differ, 1 after an error, 2 after a
    wrong option.
    """
    if (other is None) == (released is None):
        count = "neither" if other is None else "both"
        raise InputError(
            f"give another sweep or --released CSV to compare {sweep} with; {count} was given"
        )
    from algophase.runs.comparison import compare as compare_populations

    if figure is not None:
        from algophase.pictures.style import check_format

        check_format(figure.suffix.removeprefix("."))
        check_writable(None, figure)
    result = compare_populations(sweep, other, released=released, level=level, resamples=bootstrap)
    echo(json.dumps(result.to_dict(), indent=2, allow_nan=False) if as_json else str(result))
    if figure is not None:
        from algophase.reports.comparison import draw_comparison

        echo(f"figure: {draw_comparison(result, figure)}", err=True)
    if not result.indistinguishable:
        raise typer.Exit(DIFFER)
