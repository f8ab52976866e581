"""`algophase train`: train networks into a directory and say which algorithm each learned."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli.options import (
    Device,
    Engine,
    EnsembleSize,
    FigureFormat,
    Figures,
    ImageFormat,
    Modulus,
    Precision,
    StrictDevice,
)
from algophase.cli.output import CommandBar, Drawer, echo
from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.wording import floored
from algophase.pages.table import Table

if TYPE_CHECKING:
    from algophase.analysis.dynamics import Moment
    from algophase.analysis.result import Analysis
    from algophase.core.settings import NetworkSettings, RunSettings

EXAMPLE = (
    "algophase train --attention-rate 0 --attention-rate 1 --seeds 4 --epochs 8000 --out runs/"
)
FEW = 4  # networks: up to this many are shown in full
NOTHING = "not analyzed"  # diverged, or its file is not readable


def train(
    attention_rate: Annotated[
        list[float] | None,
        typer.Option(
            help="From 0 (constant attention) to 1; repeat for several.", show_default="1"
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(help="Size of the residual stream.", show_default="128, linear models 256"),
    ] = None,
    layers: Annotated[
        int | None, typer.Option(help="Attention and MLP blocks.", show_default="1")
    ] = None,
    heads: Annotated[int | None, typer.Option(help="Attention heads.", show_default="4")] = None,
    activation: Annotated[
        str | None, typer.Option(help="relu or gelu.", show_default="relu")
    ] = None,
    model: Annotated[
        str, typer.Option(help="transformer, alpha, beta, gamma, delta or alpha-prime.")
    ] = "transformer",
    hidden: Annotated[
        int | None, typer.Option(help="Hidden units of a linear model.", show_default="256")
    ] = None,
    modulus: Modulus = 59,
    separate_vocabularies: Annotated[
        bool, typer.Option("--separate-vocabularies", help="Give each operand its own embedding.")
    ] = False,
    equals_sign: Annotated[
        bool, typer.Option("--equals-sign", help="Read the answer at an equals sign.")
    ] = False,
    operation: Annotated[
        str, typer.Option(help="add, subtract, or multiply: non-zero numbers modulo a prime.")
    ] = "add",
    training_fraction: Annotated[float, typer.Option(help="Share of all pairs to train on.")] = 0.8,
    seeds: Annotated[int, typer.Option(help="Networks per kind, with consecutive seeds.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    epochs: Annotated[int, typer.Option(help="Full-batch updates.")] = 20_000,
    learning_rate: Annotated[float, typer.Option(help="AdamW learning rate.")] = 1e-3,
    weight_decay: Annotated[float, typer.Option(help="AdamW weight decay, decoupled.")] = 2.0,
    engine: Engine = "auto",
    device: Device = "auto",
    strict_device: StrictDevice = False,
    precision: Precision = None,
    history_stride: Annotated[
        int, typer.Option(help="Epochs between points of the history.")
    ] = 100,
    snapshot: Annotated[
        list[int] | None,
        typer.Option(
            metavar="EPOCH",
            help="Keep and analyze the network at this epoch too; repeat for several.",
        ),
    ] = None,
    early_stop: Annotated[
        float | None,
        typer.Option(
            metavar="LOSS",
            help="Stop when all networks validate and their training loss stays below this.",
            show_default="never",
        ),
    ] = None,
    ensemble_size: EnsembleSize = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for networks, histories and snapshots.")
    ] = Path("runs"),
    figures: Figures = None,
    figure_format: FigureFormat = ImageFormat.png,
    analysis: Annotated[
        bool, typer.Option("--analysis/--no-analysis", help="Analyze the networks after training.")
    ] = True,
) -> None:
    """Train one or many networks and say which algorithm each learned.

    Runs that are in DIR are not trained again. After an interruption, the same command continues
    where it stopped.
    """
    from dataclasses import replace

    from algophase.core.settings import RunSettings, TaskSettings
    from algophase.storage.trained_runs import CHECKPOINTS, train_into
    from algophase.training.run.loop import EarlyStop, Watch

    if seeds < 1:
        raise InputError(f"seeds is {seeds}; it must be an integer of at least 1")
    if figures is not None and not analysis:
        raise InputError("--figures draws what the analysis finds; leave out --no-analysis")
    if operation == "multiply":
        modulus -= 1  # numbers: those that are not zero
    task = TaskSettings(
        modulus, separate_vocabularies, equals_sign, training_fraction, operation=operation
    )
    runs = [
        RunSettings(
            task,
            network,
            replace(
                network.published_training(),
                epochs=epochs,
                learning_rate=learning_rate,
                weight_decay=weight_decay,
            ),
            seed,
        )
        for network in _networks(model, attention_rate, width, layers, heads, activation, hidden)
        for seed in range(first_seed, first_seed + seeds)
    ]
    watch = Watch(
        history_stride, tuple(snapshot or ()), None if early_stop is None else EarlyStop(early_stop)
    )
    with CommandBar() as bar:
        try:
            train_into(
                out,
                runs,
                engine,
                device,
                precision,
                watch,
                bar,
                ensemble_size=ensemble_size,
                strict_device=strict_device,
            )
        except Stopped as stop:
            saved = f"saved in {out / CHECKPOINTS}. The same command goes on from there."
            bar.say(f"interrupted at epoch {stop.epochs:,}; {saved}")
            raise typer.Exit(130) from None
    lost = (
        _report(runs, watch.snapshot_epochs, out, Drawer(figures, figure_format))
        if analysis
        else _lost(runs, out)
    )
    echo(f"networks and histories are in {out}", err=True)
    if lost:
        raise typer.Exit(1)


def _networks(
    model: str,
    rates: list[float] | None,
    width: int | None,
    layers: int | None,
    heads: int | None,
    activation: str | None,
    hidden: int | None,
) -> list["NetworkSettings"]:
    """One network per rate, or one linear model. An option that the model does not have is an
    error.
    """
    from algophase.core.settings import LINEAR_MODELS, LinearSettings, TransformerSettings

    only_transformer = {
        "--attention-rate": rates,
        "--layers": layers,
        "--heads": heads,
        "--activation": activation,
    }
    if model == "transformer":
        if hidden is not None:
            raise InputError(
                f"hidden is {hidden}, which goes with a linear model; choose --model "
                f"{', '.join(LINEAR_MODELS)}"
            )
        settings = {"width": width, "layers": layers, "heads": heads, "activation": activation}
        options: dict[str, Any] = {
            name: value for name, value in settings.items() if value is not None
        }
        rates = list(dict.fromkeys(rates or [1.0]))
        return [TransformerSettings(attention_rate=rate, **options) for rate in rates]
    if model not in LINEAR_MODELS:
        raise InputError(
            f"model is {model!r}; choose one of transformer, {', '.join(LINEAR_MODELS)}"
        )
    for name, value in only_transformer.items():
        if value is not None:
            raise InputError(f"{name} goes with --model transformer; model {model} has none")
    sizes = {"width": width, "hidden": hidden}
    return [
        LinearSettings(model, **{name: value for name, value in sizes.items() if value is not None})
    ]


def _lost(runs: Sequence["RunSettings"], directory: Path) -> int:
    """How many of the runs diverged."""
    from algophase.storage.run_files import find_run

    saved_runs = [find_run(run, directory) for run in runs]
    return sum(saved is not None and saved.diverged_at is not None for saved in saved_runs)


def _report(
    runs: Sequence["RunSettings"], snapshots: Sequence[int], directory: Path, draw: Drawer
) -> int:
    """Analyze every network and print the outcome, in full for a few, as a table for many.
    Returns how many had problems.
    """
    from algophase.storage.analyses import Unusable, analyze_sources
    from algophase.storage.trained_runs import load_run, run_dynamics

    rows: list[tuple[RunSettings, Analysis | None]] = []
    undrawn = 0
    with CommandBar() as bar:
        for outcome in analyze_sources(runs, lambda run: load_run(run, directory), progress=bar):
            run = outcome.source
            try:
                if isinstance(outcome, Unusable):
                    raise outcome.problem
                moments = run_dynamics(run, directory, snapshots)
            except InputError as error:  # the others are still analyzed
                bar.complain(error)
                rows.append((run, None))
                continue
            rows.append((run, outcome.analysis))
            if len(runs) <= FEW:
                lines = [_title(run, directory), "", str(outcome.analysis), *_along(moments), ""]
                echo("\n".join(lines))
            try:
                draw(outcome.network, outcome.analysis)
            except InputError as error:
                bar.complain(error)
                undrawn += 1
    if len(runs) > FEW:
        echo("\n".join(_table(rows)))
    verdicts = Counter(NOTHING if analysis is None else analysis.label for _, analysis in rows)
    echo("verdicts: " + ", ".join(f"{count} {label}" for label, count in verdicts.most_common()))
    return verdicts[NOTHING] + undrawn


def _kind(run: "RunSettings") -> str:
    """A transformer's rate, or a linear model's name."""
    from algophase.core.settings import LinearSettings, TransformerSettings

    assert isinstance(run.network, TransformerSettings | LinearSettings)
    return (
        f"{run.network.attention_rate:g}"
        if isinstance(run.network, TransformerSettings)
        else run.network.model
    )


def _title(run: "RunSettings", directory: Path) -> str:
    from algophase.storage.run_files import find_run

    saved = find_run(run, directory)
    epochs = run.training.epochs if saved is None else saved.epochs
    what = "attention rate" if run.network.kind == "transformer" else "model"
    return (
        f"{what} {_kind(run)}, width {run.network.to_dict()['width']}, seed {run.seed}, "
        f"after {epochs:,} epochs"
    )


def _numbers(analysis: "Analysis") -> list[str]:
    values = (
        analysis.gradient_symmetricity_exact,
        analysis.distance_irrelevance,
        analysis.circularity,
    )
    return [
        floored(analysis.accuracy),
        *("-" if math.isnan(value) else f"{value:.4f}" for value in values),
        analysis.label,
    ]


NUMBERS = ["accuracy", "symmetricity", "irrelevance", "circularity", "verdict"]


def _along(moments: list["Moment"]) -> list[str]:
    rows = [[f"{moment.epoch:,}", *_numbers(moment.analysis)] for moment in moments]
    if not rows:
        return []
    table = _verdict_table(["epoch", *NUMBERS], rows)
    return ["", "  along training:", *table.lines(indent=2)]


def _table(analyses: list[tuple["RunSettings", "Analysis | None"]]) -> list[str]:
    rows = []
    for run, analysis in analyses:
        numbers = ["-"] * 4 + [NOTHING] if analysis is None else _numbers(analysis)
        rows.append([run.run_id, _kind(run), str(run.seed), *numbers])
    return _verdict_table(["id", "rate or model", "seed", *NUMBERS], rows).lines()


def _verdict_table(head: list[str], rows: list[list[str]]) -> Table:
    """All columns line up on the right but the last, which is the verdict."""
    return Table(head, rows, numbers=range(len(head) - 1))
