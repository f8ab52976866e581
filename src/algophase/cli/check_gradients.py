"""`algophase check-gradients`: every engine compared with the plain one, printed as a table."""

from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli.options import Device
from algophase.cli.output import echo
from algophase.pages.table import text_line

if TYPE_CHECKING:
    from algophase.training.check.gradient_check import Comparison

EXAMPLE = "algophase check-gradients --device cuda"
COLUMNS = {  # and their widths
    "case": 38,
    "state": 15,
    "engine": 8,
    "precision": 9,
    "error": 8,
    "allowed": 8,
    "1 - cosine": 10,
    "": 7,  # ok or FAILED, after a space more
    "least agreeing parameter": 0,
}


def check_gradients(
    device: Device = "auto",
    small: Annotated[
        bool, typer.Option("--small", help="Small shapes only: under a minute on two CPU cores.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Only cases with this in their name, such as S5; repeat for several.",
            show_default="all cases",
        ),
    ] = None,
) -> None:
    """Compare every engine's loss and gradients with the plain engine in float64, parameter by
    parameter.

    Every network is checked at its start, half trained, at a loss of 1e-7, with dead attention and
    near divergence. The cases cover awkward shapes, every architecture and every precision. The
    exit code is 1 if a comparison fails, or if --device is missing on this machine.
    """
    import torch

    from algophase.core.devices import choose_device
    from algophase.training.check.gradient_check import check_all

    chosen = choose_device(device, strict=True)  # a check of the CPU would say nothing about a GPU
    name = torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else "CPU"
    echo(
        f"on {name}, PyTorch {torch.__version__}; error: largest |g - g_plain| / |g_plain| of "
        "any parameter"
    )
    echo("In trained states |g_plain| is taken as at least 0.001 of the whole gradient's norm.")
    echo(
        "*: the tolerance is raised to twice the change of the exact gradient when the parameters "
        "are rounded once.\n"
    )
    echo(_line(list(COLUMNS)))
    failed = count = 0
    for result in check_all(chosen, small, only or ()):
        count += 1
        failed += not result.passed
        echo(_line(_cells(result)))
    echo(f"\n{count - failed} of {count} comparisons passed")
    if failed:
        raise typer.Exit(1)


def _cells(result: "Comparison") -> list[str]:
    """One comparison, in the order of `COLUMNS`."""
    agreement = result.agreement
    mark = "*" if result.sensitive else " "
    one_minus_cosine = max(0.0, 1 - agreement.cosine)
    return [
        result.case,
        result.state,
        result.engine,
        result.precision,
        f"{agreement.error:.1e}",
        f"{result.tolerance:.0e}{mark}",
        f"{one_minus_cosine:.1e}",
        " ok" if result.passed else " FAILED",
        agreement.parameter,
    ]


def _line(cells: list[str]) -> str:
    """Printed as soon as its comparison is made: the widths cannot wait for the last one."""
    return text_line(cells, list(COLUMNS.values()), numbers=(4, 5, 6), gap=" ")
