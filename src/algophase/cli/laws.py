"""`algophase laws`: how many key frequencies networks have, and which."""

import json
from pathlib import Path
from typing import Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import AsJson
from algophase.cli.output import echo

EXAMPLE = "algophase laws fixed-width"


def laws(
    sweep: Annotated[
        Path,
        typer.Argument(
            metavar="SWEEP",
            help="A sweep: its directory, a Parquet file of runs, or a shipped one.",
            autocompletion=completion.sweeps,
        ),
    ],
    level: Annotated[float, typer.Option(help="Family-wise error rate.")] = 0.01,
    starts: Annotated[
        bool,
        typer.Option(
            help="Draw the initial weights again from the seeds, to test if they predict the keys."
        ),
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulations.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Test which laws the choice of key frequencies follows, in the accurate networks of a sweep.

    Does their number depend on a setting? Is every frequency equally likely? Do keys avoid short
    integer relations, such as i + j = l and 2i = j? Do the initial weights predict the choice?
    Each test states its power first.
    """
    from algophase.runs.laws import selection_laws
    from algophase.runs.runs import Runs

    result = selection_laws(Runs.read(sweep), level=level, starts=starts, seed=seed)
    echo(json.dumps(result.to_dict(), indent=2, allow_nan=False) if as_json else str(result))
