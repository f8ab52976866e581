"""`algophase handmade`: a Clock or a Pizza with weights set by hand."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli.options import Modulus
from algophase.cli.output import echo
from algophase.core.errors import InputError

if TYPE_CHECKING:
    from algophase.networks import Network

EXAMPLE = "algophase handmade pizza --modulus 113 -k 1 -k 8 -k 30 --out networks/"


class Algorithm(StrEnum):
    clock = "clock"
    pizza = "pizza"


def handmade(
    algorithm: Annotated[
        Algorithm, typer.Argument(metavar="clock|pizza", help="Which algorithm to build.")
    ],
    modulus: Modulus = 59,
    frequency: Annotated[
        list[int] | None,
        typer.Option(
            "--frequency",
            "-k",
            help="A circle of this frequency; repeat for several.",
            show_default="those of 1, 5 and 17 that fit",
        ),
    ] = None,
    accompanied: Annotated[
        bool,
        typer.Option(
            "--accompanied",
            help="Give each Pizza its accompanying one; an even modulus needs them.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory to write the network to.")
    ] = Path("networks"),
) -> None:
    """Write a Clock or a Pizza with weights set by hand: the value of every metric is known."""
    from algophase.networks.handmade import handmade_clock, handmade_pizza
    from algophase.storage import save

    if algorithm is Algorithm.pizza:
        network: Network = handmade_pizza(modulus, frequency or None, accompanied=accompanied)
    elif accompanied:
        raise InputError("--accompanied needs a pizza; a clock answers every pair without it")
    else:
        network = handmade_clock(modulus, frequency or None)
    path = save(network, out / network.id, overwrite=True)
    echo(f"wrote {path}")
