"""The command `algophase retrain`: any run of a sweep brought back from its settings."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli_output import TrainingBar

if TYPE_CHECKING:
    from algophase.sweeps.retrain import Difference

EXAMPLE = "Example:  algophase retrain sweeps/fixed-width 17"
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
    force: Annotated[bool, typer.Option("--force", help="Train although the network is there.")] = False,
    engine: Annotated[
        str | None, typer.Option(help="auto, plain, stacked, grid or fused.", show_default="the table's, where it runs")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda or cuda:N.", show_default="the table's, where there is one")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="float32, float64; on a GPU also tf32, tf32x3.", show_default="the table's")
    ] = None,
) -> None:
    """Train one run of a sweep again, save its network, and say whether it is the one the table was made from.

    Alone, the fused engine gives the same bits as in an ensemble padded to the same width; the other engines round by what
    trains together, and another machine by its own arithmetic. Training amplifies rounding.
    """
    from algophase.runs.rows import run_from_row
    from algophase.storage.files import check_directory
    from algophase.storage.network_files import load_network, save
    from algophase.storage.sweep_directory import SweepDirectory
    from algophase.sweeps.retrain import choose, find_run
    from algophase.sweeps.retrain import retrain as train_again
    from algophase.training.trained import TrainingInterrupted

    directory = SweepDirectory(path)
    row = find_run(path, name)
    run = run_from_row(row)
    target = directory.networks if out is None else out
    aside = directory.path / "retrained"  # for what is not the table's own, which the sweep's networks must be
    for place in (target, directory.networks, aside):
        file = place / f"{run.run_id}.safetensors"
        if file.exists() and file.with_suffix(".json").exists() and not force:
            typer.echo(f"run {row['index']}, {run.run_id}: its network is there already, {file} (--force trains it again)")
            if out is not None and place != target:
                typer.echo(f"a copy is in {save(load_network(file), target / run.run_id)}")
            return
    if out is not None:
        check_directory(out)
    group, note = choose(run, row, engine, device, precision, lambda line: typer.echo(line, err=True))
    own = target.resolve() == directory.networks.resolve()
    held = directory.hold(f"retraining run {run.run_id}") if own else contextlib.nullcontext()
    with held:
        with TrainingBar() as bar:
            if note is not None:
                bar.say(note)
            try:
                trained, analysis, difference = train_again(row, run, group, bar, bar.say)
            except TrainingInterrupted:
                bar.say("interrupted: nothing was saved")
                raise typer.Exit(130) from None
        target = aside if own and not difference.same else target
        saved = None if trained.network is None else save(trained.network, target / run.run_id, overwrite=True)
    if analysis is None:
        why = "cannot be analysed" if trained.diverged_at is None else f"diverged at epoch {trained.diverged_at}"
        typer.echo(f"run {row['index']}, {run.run_id}, {why}")
    else:
        typer.echo(f"{analysis}\n")
    typer.echo(_told(difference))
    if not difference.same and note is None:
        typer.echo("  (in the sweep it was trained in an ensemble, which can round otherwise than a network alone)")
    typer.echo(f"the network is in {saved}" if saved is not None else "there is no network to save")


def _told(difference: "Difference") -> str:
    lines = [str(difference)]
    if not difference.same:
        shown = [name for name in LISTED if name in difference.differing]
        for name in shown or list(difference.differing)[:3]:
            here, there = difference.differing[name]
            lines.append(f"  {name}: {here} here, {there} in the table")
    return "\n".join(lines)
