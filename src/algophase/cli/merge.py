"""`algophase merge`: partial sweeps joined into one table."""

from pathlib import Path
from typing import Annotated

import typer

from algophase.cli.output import echo, typed

EXAMPLE = "algophase merge machine-1/ machine-2/ --out sweeps/fixed-width"


def merge(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Directories of sweeps of the same space and seed."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Directory of the joined sweep; may be one of the inputs."
        ),
    ],
) -> None:
    """Join parts of a sweep, made on several machines, into one table.

    Of several copies of a run one is kept: the copy in --out, otherwise the first input's. Kept
    networks are copied too. The inputs are not changed.
    """
    from algophase.sweeps.merge import merge as join

    merged = join(paths, out, typed())
    echo(f"{merged.runs:,} runs in {out}, {merged.new:,} of them new")
    if merged.repeated:
        echo(
            f"{merged.repeated:,} repeated copies were dropped, {merged.differing:,} of them with "
            "different numbers"
        )
    if merged.differing:
        echo(
            "different numbers come from another machine or ensemble: rounding differs, and "
            "training amplifies it"
        )
    if merged.networks:
        echo(f"kept networks copied: {merged.networks:,}")
    if merged.unmatched:
        echo(
            f"kept networks left out: {merged.unmatched:,}; the table has different numbers for "
            "their runs, or none"
        )
