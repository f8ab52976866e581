"""`algophase check-gradients`: every engine compared with the plain one, printed as a table."""

from typing import Annotated

import typer

from algophase.cli.options import Device
from algophase.cli.output import echo

EXAMPLE = "algophase check-gradients --device cuda"


def check_gradients(
    device: Device = "auto",
    small: Annotated[
        bool, typer.Option("--small", help="Small shapes only: under a minute on two CPU cores.")
    ] = False,
) -> None:
    """Compare every engine's loss and gradients with the plain engine in float64, parameter by
    parameter.

    Every network is checked at its start, half trained, at a loss of 1e-7, with attention that died
    and near divergence. Covers awkward shapes, every architecture and every precision. The exit
    code is 1 if a comparison fails, or if --device is missing on this machine.
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
    echo(
        "In trained states |g_plain| counts as at least a thousandth of the whole gradient's norm."
    )
    echo(
        "*: more than the stated tolerance; twice what one rounding of the parameters does to "
        "the exact gradient is allowed.\n"
    )
    head = (
        f"{'case':<38} {'state':<15} {'engine':<8} {'precision':<9} {'error':>8} "
        f"{'allowed':>8} {'1 - cosine':>10}"
    )
    echo(f"{head}  {'':<6} least agreeing parameter")
    failed = count = 0
    for result in check_all(chosen, small):
        count += 1
        failed += not result.passed
        verdict = "ok" if result.passed else "FAILED"
        where = f"{result.case:<38} {result.state:<15} {result.engine:<8} {result.precision:<9}"
        allowed = f"{result.tolerance:>7.0e}{'*' if result.sensitive else ' '}"
        numbers = f"{result.found.error:>8.1e} {allowed} {max(0.0, 1 - result.found.cosine):>10.1e}"
        echo(f"{where} {numbers}  {verdict:<6} {result.found.parameter}")
    echo(f"\n{count - failed} of {count} comparisons passed")
    if failed:
        raise typer.Exit(1)
