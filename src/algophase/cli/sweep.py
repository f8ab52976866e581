"""`algophase sweep`: train and analyze many runs of a space, into a table."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import (
    CheckAgain,
    Device,
    Engine,
    EnsembleSize,
    Precision,
    StrictDevice,
)
from algophase.cli.output import CommandBar, echo, typed
from algophase.core.errors import InputError
from algophase.core.wording import counted, duration
from algophase.pages.table import Table
from algophase.training.check.checkers import start_early

if TYPE_CHECKING:
    from algophase.sweeps.spaces import Space
    from algophase.sweeps.sweep import Outcome

EXAMPLE = "algophase sweep fixed-width --out sweeps/fixed-width --minutes 25"


class Executor(StrEnum):
    local = "local"
    ray = "ray"


def sweep(
    space: Annotated[
        str | None,
        typer.Argument(
            metavar="SPACE",
            help="A space by its name (see --list), or a .toml file of your own.",
            autocompletion=completion.spaces,
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Train on another finite group: S5, D30, Z2xZ30, ... or generators such as "
            "'(1 2 3 4 5); (1 2)'; repeat for several.",
            show_default="the space's own",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the table.", show_default="sweeps/SPACE"),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="How many runs, at most a million, including those in DIR.",
            show_default="the space's own",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other runs of the same space.")] = 0,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Stop cleanly after this time; the same command continues.",
            show_default="no limit",
        ),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            metavar="I/K",
            help="Only every K-th run from the I-th on: one part for each of K machines.",
        ),
    ] = "1/1",
    keep_weights: Annotated[
        str,
        typer.Option(
            metavar="none|all|N", help="Networks to keep in DIR/networks; N keeps N per verdict."
        ),
    ] = "none",
    snapshot: Annotated[
        list[int] | None,
        typer.Option(
            metavar="EPOCH",
            help="Also analyze the networks after this many epochs (DIR/moments); repeat for "
            "several.",
            show_default="the space's own",
        ),
    ] = None,
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden",
            help="Also analyze the hidden layers, as analyze --hidden does: columns hidden.*",
        ),
    ] = False,
    engine: Engine = "auto",
    device: Device = "auto",
    strict_device: StrictDevice = False,
    check_again: CheckAgain = False,
    precision: Precision = None,
    ensemble_size: EnsembleSize = None,
    checkpoint_seconds: Annotated[
        float,
        typer.Option(
            help="Seconds between saves of a running ensemble: the most that a crash loses."
        ),
    ] = 300.0,
    executor: Annotated[
        Executor, typer.Option(help="local: this machine. ray: a Ray cluster (extra `ray`).")
    ] = Executor.local,
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of the Ray cluster, with --executor ray.", show_default="one started here"
        ),
    ] = None,
    shard: Annotated[
        int | None,
        typer.Option(
            help="Runs per task, with --executor ray.", show_default="512 on GPUs, 16 on CPUs"
        ),
    ] = None,
    mix_versions: Annotated[
        bool,
        typer.Option(
            "--mix-versions",
            help="Continue a table that another version or commit of the code began.",
        ),
    ] = False,
    list_spaces: Annotated[
        bool,
        typer.Option("--list", help="List the paper's experiments and our own spaces, and stop."),
    ] = False,
) -> None:
    """Train many runs of a space, analyze each, and add them to a table.

    Run i of a space and seed is always the same run. After Ctrl-C, a crash or --minutes, the same
    command continues: nothing is lost and nothing is done twice. Your own space is a small TOML
    file; see docs/sweeps.md. On other groups: algophase sweep fixed-width --group D30 --group A5
    """
    if space is not None and not list_spaces and executor is Executor.local and device != "cpu":
        start_early()  # before PyTorch is imported here
    from algophase.sweeps.make import sweep as make_sweep
    from algophase.sweeps.shipped_spaces import SPACES, find_space

    if list_spaces:
        _list(list(SPACES.values()))
        return
    if space is None:
        raise InputError(f"give a space: one of {', '.join(SPACES)}, or a .toml file of your own")
    chosen = find_space(space)
    if group:
        chosen = chosen.on_groups(group)
    directory = out or Path("sweeps") / chosen.name
    with CommandBar() as bar:
        outcome = make_sweep(
            chosen,
            directory,
            runs=runs,
            seed=seed,
            minutes=minutes,
            part=_part(part),
            keep_weights=int(keep_weights) if keep_weights.isdecimal() else keep_weights,
            snapshot_epochs=snapshot or (),
            hidden=hidden,
            engine=engine,
            device=device,
            strict_device=strict_device,
            check_again=check_again,
            precision=precision,
            ensemble_size=ensemble_size,
            checkpoint_seconds=checkpoint_seconds,
            executor=executor.value,
            address=address,
            shard=shard,
            mix_versions=mix_versions,
            command=typed(),
            progress=bar,
        )
    _conclude(outcome, directory)
    if outcome.ended == "interrupted":
        raise typer.Exit(130)


def _list(spaces: list["Space"]) -> None:
    rows = []
    for space in spaces:
        paper = "-" if space.paper_runs is None else f"{space.paper_runs:,}"
        figures = f" ({', '.join(space.figures)})" if space.figures else ""
        rows.append([space.name, f"{space.runs:,}", paper, f"{space.title}{figures}"])
    head = ["space", "runs", "paper's", "what it is, and the paper's figures it is for"]
    echo(Table(head, rows, numbers=(1, 2)).text())
    echo("paper's: runs with metrics in the authors' released table (-: none)")
    echo("spaces without figures are ours, not the paper's")


def _part(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise InputError(f"part is {text!r}; it must be I/K with I from 1 to K, such as 2/4")
    return int(number), int(count)


def _conclude(outcome: "Outcome", path: Path) -> None:
    from algophase.sweeps.sweep import tally

    say = {
        "complete": "complete",
        "out of time": "out of time; run the same command to continue",
        "interrupted": "interrupted; run the same command to continue",
    }[outcome.ended]
    echo(
        f"{outcome.done:,} of {outcome.runs:,} runs, {outcome.new:,} of them new, in "
        f"{duration(outcome.seconds)}: {say}"
    )
    if outcome.done:
        echo(tally(outcome.counts))
        if outcome.unfair:
            echo(outcome.unfair)
    if outcome.new:
        training = outcome.training_seconds / outcome.new
        analysis = outcome.analysis_seconds / outcome.new
        beside = outcome.beside_seconds / outcome.new
        line = f"seconds per run: {training:.3f} training, {analysis:.3f} analysis"
        if beside > 0:
            line += f" ({beside:.3f} of it while the GPU trained other runs)"
        if outcome.ended == "complete":
            line += f", {outcome.other_seconds / outcome.new:.3f} everything else"
        echo(line, err=True)
    if outcome.without_weights:
        echo(
            f"the weights of {counted(outcome.without_weights, 'run')} were not kept; "
            "restore a run's weights with `algophase retrain`"
        )
    echo(f"the table is in {path}")
