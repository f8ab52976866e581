"""`algophase doctor`: what is here, which engine each kind of network gets, whether its gradients
are right, and how fast it trains.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli.options import Device
from algophase.cli.output import echo
from algophase.core.wording import counted

if TYPE_CHECKING:
    from torch import device as TorchDevice

    from algophase.training.check.gradient_check import Comparison

EXAMPLE = "algophase doctor > doctor.md"


def doctor(
    device: Device = "auto",
    seconds: Annotated[
        float, typer.Option(min=0.1, help="How long to time each of four kinds of network.")
    ] = 5.0,
) -> None:
    """Say what this machine trains with: its card, the engine of each kind of network and why,
    whether its gradients are right, and a table of times. It takes about a minute.

    The output is Markdown: paste it into an issue. Engines and tolerances are those of `algophase
    check-gradients`, which checks many more shapes. The exit code is 1 if a gradient is wrong, or
    if --device is missing on this machine.
    """
    from algophase import __version__
    from algophase.core.devices import choose_device
    from algophase.training.check.doctor import machine

    chosen = choose_device(device, strict=True)
    echo(f"### algophase {__version__} on {chosen}\n")
    _print_table(["what", "here"], [list(fact) for fact in machine(chosen).items()])
    _print_choices(chosen)
    failed = _print_gradients(chosen)
    _print_timings(chosen, seconds)
    if failed:
        echo(f"\n{counted(failed, 'gradient')} wrong: choose --precision float32 or --engine plain")
        raise typer.Exit(1)


def _print_table(columns: list[str], rows: list[list[str]], numbers: tuple[int, ...] = ()) -> None:
    from algophase.pages.table import Table

    echo(Table(columns, rows, numbers=numbers).markdown())


def _print_choices(device: "TorchDevice") -> None:
    from algophase.training.check.doctor import choices

    echo("\nWhat `--engine auto` takes:\n")
    rows = [
        [choice.kind, choice.engine, choice.precision, choice.reason] for choice in choices(device)
    ]
    _print_table(["network", "engine", "precision", "why not fused"], rows)


def _print_gradients(device: "TorchDevice") -> int:
    """How many comparisons failed."""
    from algophase.training.check.doctor import CHECKED, CHECKED_ON_CPU
    from algophase.training.check.gradient_check import check_all

    on_cpu = device.type == "cpu"
    cases = CHECKED_ON_CPU if on_cpu else CHECKED
    worst: dict[tuple[str, str, str], list[Comparison]] = {}
    for result in check_all(device, on_cpu, cases):
        worst.setdefault((result.case, result.engine, result.precision), []).append(result)
    echo("\nGradients, compared with the plain engine in float64 in every state:\n")
    rows, failed = [], 0
    for (case, engine, precision), results in worst.items():
        wrong = [result for result in results if not result.passed]
        failed += len(wrong)
        largest = max(results, key=lambda result: result.agreement.error)
        states = counted(len(results), "state")
        outcome = f"{states} right" if not wrong else f"WRONG: {wrong[0].state}"
        rows.append([case, engine, precision, f"{largest.agreement.error:.1e}", outcome])
    _print_table(["network", "engine", "precision", "largest error", ""], rows, (3,))
    return failed


def _print_timings(device: "TorchDevice", seconds: float) -> None:
    from algophase.training.check.doctor import timings

    echo("\nTimes, without compiling kernels:\n")
    rows = []
    for timing in timings(device, seconds):
        row = [timing.kind, timing.engine, timing.precision, f"{timing.networks}"]
        row += [f"{timing.epochs:,}", f"{timing.per_epoch:,.1f}", f"{timing.per_run:,.2f}"]
        rows.append(row)
    columns = ["network", "engine", "precision", "networks", "epochs"]
    columns += ["µs per network and epoch", "s per run of 20,000"]
    _print_table(columns, rows, (3, 4, 5, 6))
