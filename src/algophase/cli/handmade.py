"""`algophase handmade`: a Clock or a Pizza with weights set by hand, or their counterparts on a
finite group.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli.options import Modulus
from algophase.cli.output import check_writable, echo
from algophase.core.errors import InputError

if TYPE_CHECKING:
    from algophase.networks import Network

EXAMPLE = "algophase handmade pizza --modulus 113 -k 1 -k 8 -k 30"


class Algorithm(StrEnum):
    clock = "clock"
    pizza = "pizza"
    adding = "adding"
    multiplying = "multiplying"


ON_GROUPS = (Algorithm.adding, Algorithm.multiplying)


def handmade(
    algorithm: Annotated[
        Algorithm,
        typer.Argument(
            metavar="clock|pizza|adding|multiplying",
            help="Which algorithm to build: adding and multiplying are for a finite group.",
        ),
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
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For adding and multiplying: the group, such as S3, D5, A5 or generators.",
            show_default="S3",
        ),
    ] = None,
    representation: Annotated[
        list[str] | None,
        typer.Option(
            "--representation",
            "-r",
            metavar="NAME",
            help="For adding and multiplying: a representation to use; repeat for several.",
            show_default="the first that tells all elements apart",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory to write the network to.")
    ] = Path("networks"),
) -> None:
    """Write a network with weights set by hand: the value of every metric is known.

    A Clock or a Pizza adds modulo p. Their counterparts on a finite group multiply or add there.
    """
    from algophase.networks.handmade import handmade_clock, handmade_pizza
    from algophase.networks.handmade_groups import handmade_adding, handmade_multiplying
    from algophase.storage import save

    check_writable(out)
    on_group = algorithm in ON_GROUPS
    if not on_group and (group or representation):
        raise InputError(
            f"--group and --representation are for {' and '.join(ON_GROUPS)}; a {algorithm} adds "
            "modulo --modulus"
        )
    if on_group and (frequency or accompanied):
        raise InputError("--frequency and --accompanied are for clock and pizza")
    network: Network
    if algorithm is Algorithm.adding:
        network = handmade_adding(group or "S3", representation or None)
    elif algorithm is Algorithm.multiplying:
        network = handmade_multiplying(group or "S3", representation or None)
    elif algorithm is Algorithm.pizza:
        network = handmade_pizza(modulus, frequency or None, accompanied=accompanied)
    elif accompanied:
        raise InputError("--accompanied needs a pizza; a clock answers every pair without it")
    else:
        network = handmade_clock(modulus, frequency or None)
    path = save(network, out / network.id, overwrite=True)
    echo(f"wrote {path}")
