"""`algophase check-gradients`: every engine against the specification, printed as a table."""

from enum import StrEnum
from typing import Annotated

import typer

from algophase.errors import InputError

EXAMPLE = "Example:  algophase check-gradients --device cuda"


class CheckDevice(StrEnum):
    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def check_gradients(
    device: Annotated[CheckDevice, typer.Option(help="Where to check; auto takes the GPU if there is one.")] = CheckDevice.auto,
    small: Annotated[bool, typer.Option("--small", help="Small shapes only: under a minute on two CPU cores.")] = False,
) -> None:
    """Compare every engine's loss and gradients with the specification in float64, parameter by parameter.

    Over awkward shapes, every architecture and every precision. The exit code is 1 if one fails.
    """
    import torch

    from algophase.training.engine import PRECISIONS
    from algophase.training.gradient_check import check
    from algophase.training.plan import choose_device, distinct_engines

    if device is CheckDevice.cuda and not torch.cuda.is_available():
        raise InputError("device is 'cuda'; there is no GPU here, choose cpu")
    where, _ = choose_device(device.value)
    name = torch.cuda.get_device_name(where) if where.type == "cuda" else "CPU"
    typer.echo(f"on {name}, PyTorch {torch.__version__}; error: largest |g - g_plain| / |g_plain| of any parameter\n")
    typer.echo(f"{'case':<38} {'engine':<8} {'precision':<9} {'error':>8} {'allowed':>8}  {'':<6} least agreeing parameter")
    failed = count = 0
    for result in check(distinct_engines(), where, PRECISIONS, small=small):
        count += 1
        failed += not result.passed
        verdict = "ok" if result.passed else "FAILED"
        numbers = f"{result.error:>8.1e} {result.tolerance:>8.0e}"
        typer.echo(f"{result.case:<38} {result.engine:<8} {result.precision:<9} {numbers}  {verdict:<6} {result.parameter}")
    typer.echo(f"\n{count - failed} of {count} comparisons passed")
    if failed:
        raise typer.Exit(1)
