"""`algophase retrain`: any run of a sweep brought back from its settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli.options import DEVICES, ENGINES, PRECISIONS, StrictDevice
from algophase.cli.output import TrainingBar, echo

if TYPE_CHECKING:
    from algophase.sweeps.retrain import Difference, Restored

EXAMPLE = "algophase retrain sweeps/fixed-width 17"
LISTED = ("validation_accuracy", "circularity", "gradient_symmetricity", "distance_irrelevance")


def retrain(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="The sweep's directory.")],
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run's index, its id, or the beginning of its id.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory to write the network to.",
            show_default="DIR/networks, or DIR/retrained if it is not the table's",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Train even if the network is already there.")] = False,
    engine: Annotated[str | None, typer.Option(help=ENGINES, show_default="the table's, where it runs")] = None,
    device: Annotated[str | None, typer.Option(help=DEVICES, show_default="the table's, where there is one")] = None,
    strict_device: StrictDevice = False,
    precision: Annotated[str | None, typer.Option(help=PRECISIONS, show_default="the table's")] = None,
) -> None:
    """Train one run of a sweep again, save its network, and say whether it is identical to the one in the table.

    Trained alone, a network of the fused engine is bit-identical to one from an ensemble padded to the same width. With the
    other engines rounding depends on what trains together, and on every engine it depends on the machine. Training amplifies
    rounding. Rows of an engine that is gone (fused in tf32) are trained by today's engines, on a GPU in half.
    """
    from algophase.sweeps.retrain import retrain_run
    from algophase.training.trained import TrainingInterrupted

    with TrainingBar() as bar:
        try:
            restored = retrain_run(
                path,
                name,
                out,
                force=force,
                engine=engine,
                device=device,
                precision=precision,
                strict_device=strict_device,
                progress=bar,
            )
        except TrainingInterrupted:
            bar.say("interrupted: nothing was saved")
            raise typer.Exit(130) from None
    _conclude(restored)


def _conclude(restored: "Restored") -> None:
    run, made = f"run {restored.index}, {restored.run_id}", restored.made
    if made is None:
        echo(f"{run}: its network is there already, {restored.path} (--force trains it again)")
        if restored.copy is not None:
            echo(f"a copy is in {restored.copy}")
        return
    if made.analysis is None:
        epoch = made.trained.diverged_at
        echo(f"{run}, {'cannot be analysed' if epoch is None else f'diverged at epoch {epoch}'}")
    else:
        echo(f"{made.analysis}\n")
    echo("\n".join(_told(made.difference)))
    if not made.difference.same and restored.as_before:
        echo("  (in the sweep it was trained in an ensemble, where rounding can differ from a network alone)")
    echo("there is no network to save" if restored.path is None else f"the network is in {restored.path}")


def _told(difference: "Difference") -> list[str]:
    lines = [str(difference)]
    for name in [name for name in LISTED if name in difference.differing] or list(difference.differing)[:3]:
        here, there = difference.differing[name]
        lines.append(f"  {name}: {here} here, {there} in the table")
    return lines
