"""`algophase check-gradients`: every engine compared with the plain one, printed as a table."""

from typing import Annotated

import typer

from algophase.cli.options import Device
from algophase.cli.output import echo

EXAMPLE = "algophase check-gradients --device cuda"


def check_gradients(
    device: Device = "auto",
    small: Annotated[bool, typer.Option("--small", help="Small shapes only: under a minute on two CPU cores.")] = False,
) -> None:
    """Compare every engine's loss and gradients with the plain engine in float64, parameter by parameter.

    Covers awkward shapes, every architecture and every precision. The exit code is 1 if a comparison fails, or if --device is
    missing on this machine.
    """
    import torch

    from algophase.devices import choose_device
    from algophase.training.engine import PRECISIONS
    from algophase.training.gradient_check import check
    from algophase.training.plan import distinct_engines

    where = choose_device(device, strict=True)  # a check of the CPU would say nothing about a GPU
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else "CPU"
    echo(f"on {name}, PyTorch {torch.__version__}; error: largest |g - g_plain| / |g_plain| of any parameter\n")
    echo(f"{'case':<38} {'engine':<8} {'precision':<9} {'error':>8} {'allowed':>8}  {'':<6} least agreeing parameter")
    failed = count = 0
    for result in check(distinct_engines(), where, PRECISIONS, small=small):
        count += 1
        failed += not result.passed
        verdict = "ok" if result.passed else "FAILED"
        numbers = f"{result.error:>8.1e} {result.tolerance:>8.0e}"
        echo(f"{result.case:<38} {result.engine:<8} {result.precision:<9} {numbers}  {verdict:<6} {result.parameter}")
    echo(f"\n{count - failed} of {count} comparisons passed")
    if failed:
        raise typer.Exit(1)
