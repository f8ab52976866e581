"""`algophase train`: train networks into a directory and say which algorithm each learned."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli.options import (
    CheckAgain,
    Device,
    Engine,
    EnsembleSize,
    FigureFormat,
    Figures,
    ImageFormat,
    Precision,
    StrictDevice,
)
from algophase.cli.output import CommandBar, Drawer, check_writable, echo, typed
from algophase.core.errors import InputError
from algophase.core.wording import floored
from algophase.pages.table import Table

if TYPE_CHECKING:
    from algophase.analysis.result import Analysis
    from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings
    from algophase.networks import Network
    from algophase.sweeps.given_runs import TrainedOnDisk

EXAMPLE = "algophase train --attention-rate 0 --attention-rate 1 --epochs 8000"
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
    modulus: Annotated[
        int | None,
        typer.Option("--modulus", "-p", help="Add modulo this number.", show_default="59"),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Train on another finite group: S5, D30, A5, Dic15, Q8, F20, Z2xZ30, ..., or "
            "generators such as '(1 2 3 4 5); (1 2)'.",
            show_default="addition",
        ),
    ] = None,
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
    learning_rate: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    weight_decay: Annotated[
        float, typer.Option(help="Weight decay: decoupled, with sgd part of the gradient.")
    ] = 2.0,
    optimizer: Annotated[
        str,
        typer.Option(help="adamw, muon (hidden matrices; adamw for the rest) or sgd."),
    ] = "adamw",
    momentum: Annotated[float, typer.Option(help="Momentum of muon and sgd.")] = 0.95,
    epsilon: Annotated[float, typer.Option(help="Epsilon of adamw.")] = 1e-8,
    loss: Annotated[
        str,
        typer.Option(
            help="cross-entropy, torch-cross-entropy (as PyTorch rounds it) or stablemax."
        ),
    ] = "cross-entropy",
    loss_precision: Annotated[
        str,
        typer.Option(help="training, or float64 for the loss and its slope at the logits."),
    ] = "training",
    fixed_norm: Annotated[
        float,
        typer.Option(
            help="Scale all parameters together to this norm after each update; 0 does not."
        ),
    ] = 0.0,
    decay_from: Annotated[int, typer.Option(help="First epoch with weight decay.")] = 0,
    decay_until: Annotated[
        int, typer.Option(help="First epoch without weight decay again; 0: to the end.")
    ] = 0,
    initial_scale: Annotated[float, typer.Option(help="Factor of the initial weights.")] = 1.0,
    schedule: Annotated[
        str, typer.Option(help="Learning rate after the warm-up: constant or cosine.")
    ] = "constant",
    warmup_steps: Annotated[
        int | None,
        typer.Option(
            help="Updates until the learning rate is full.", show_default="10, linear models 0"
        ),
    ] = None,
    engine: Engine = "auto",
    device: Device = "auto",
    strict_device: StrictDevice = False,
    check_again: CheckAgain = False,
    precision: Precision = None,
    history_stride: Annotated[
        int, typer.Option(help="Epochs between points of the history.")
    ] = 100,
    snapshot: Annotated[
        list[int] | None,
        typer.Option(
            metavar="EPOCH",
            help="Also keep and analyze the network at this epoch; repeat for several.",
        ),
    ] = None,
    early_stop: Annotated[
        float | None,
        typer.Option(
            metavar="LOSS",
            help="Stop when all networks have validation accuracy 1 and a loss below this.",
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
    where it stopped. Another group than addition modulo p: algophase train --group S5
    """
    from algophase.sweeps.given_runs import read_trained, train_into
    from algophase.sweeps.options import Options
    from algophase.training.run.loop import EarlyStop

    if seeds < 1:
        raise InputError(f"seeds is {seeds}; it must be an integer of at least 1")
    if figures is not None and not analysis:
        raise InputError("--figures needs the analysis; omit --no-analysis")
    check_writable(figures)
    task = _task(
        modulus,
        group,
        separate_vocabularies=separate_vocabularies,
        equals_sign=equals_sign,
        training_fraction=training_fraction,
        operation=operation,
    )
    networks = _networks(model, attention_rate, width, layers, heads, activation, hidden)
    all_seeds = range(first_seed, first_seed + seeds)
    recipe: dict[str, Any] = {
        "epochs": epochs,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "optimizer": optimizer,
        "momentum": momentum,
        "epsilon": epsilon,
        "loss": loss,
        "loss_precision": loss_precision,
        "fixed_norm": fixed_norm,
        "decay_from": decay_from,
        "decay_until": decay_until,
        "initial_scale": initial_scale,
        "schedule": schedule,
    }
    if warmup_steps is not None:
        recipe["warmup_steps"] = warmup_steps
    runs = _runs(task, networks, recipe, all_seeds)
    options = Options(
        engine=engine,
        device=device,
        precision=precision,
        ensemble_size=ensemble_size,
        history_stride=history_stride,
        snapshot_epochs=tuple(snapshot or ()),
        strict_device=strict_device,
        check_again=check_again,
        early_stop=None if early_stop is None else EarlyStop(early_stop),
        histories=True,
        analysis=analysis,
    )
    with CommandBar() as bar:
        outcome = train_into(out, runs, options, bar, typed())
        if outcome.ended != "complete":
            bar.say(
                f"interrupted at epoch {outcome.epoch:,}; saved in {out}. Run the same command "
                "to continue."
            )
            raise typer.Exit(130)
    trained = read_trained(out, runs)
    if analysis:
        problems = _report(trained, options.snapshot_epochs, Drawer(figures, figure_format))
    else:
        problems = sum(run.diverged_at is not None for run in trained)
    echo(f"networks and histories are in {out}", err=True)
    if problems:
        raise typer.Exit(1)


def _task(modulus: int | None, group: str | None, **settings: Any) -> "TaskSettings":
    """group: its name or generators. For multiplication, modulus is the prime."""
    from algophase.core.settings import TaskSettings

    if group is not None:
        settings["group"] = group
    elif settings["operation"] == "multiply":
        prime = TaskSettings().modulus if modulus is None else modulus
        modulus = prime - 1  # numbers: those that are not zero
    if modulus is not None:
        settings["modulus"] = modulus
    return TaskSettings.from_dict(settings)


def _runs(
    task: "TaskSettings",
    networks: Sequence["NetworkSettings"],
    recipe: Mapping[str, Any],
    seeds: Sequence[int],
) -> list["RunSettings"]:
    """Every network with every seed. recipe: training settings that differ from the paper's."""
    from algophase.core.settings import RunSettings

    runs = []
    for network in networks:
        training = replace(network.published_training(), **recipe)
        runs += [RunSettings(task, network, training, seed) for seed in seeds]
    return runs


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
                f"hidden is {hidden}, which needs a linear model; choose --model "
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
            raise InputError(f"{name} needs --model transformer; model {model} has none")
    sizes = {"width": width, "hidden": hidden}
    return [
        LinearSettings(model, **{name: value for name, value in sizes.items() if value is not None})
    ]


def _report(trained: Sequence["TrainedOnDisk"], snapshots: Sequence[int], draw: Drawer) -> int:
    """Print what each network learned, in full for a few, as a table for many. Returns how many had
    problems.
    """
    from algophase.storage.analyses import Unusable, analyze_sources

    in_full = len(trained) <= FEW or draw.directory is not None

    def load_one(saved: "TrainedOnDisk") -> "Network":
        network = _load(saved)
        if not in_full:  # for a table, the numbers of its row will do
            network.known_analysis = saved.analysis
        return network

    rows: list[tuple[RunSettings, Analysis | None]] = []
    undrawn = 0
    with CommandBar() as bar:
        for outcome in analyze_sources(trained, load_one, progress=bar):
            saved = outcome.source
            if isinstance(outcome, Unusable):
                bar.complain(outcome.problem)
                rows.append((saved.run, None))
                continue
            rows.append((saved.run, outcome.analysis))
            if len(trained) <= FEW:
                along = _along(saved, snapshots)
                echo("\n".join([_title(saved), "", str(outcome.analysis), *along, ""]))
            try:
                draw(outcome.network, outcome.analysis)
            except InputError as error:
                bar.complain(error)
                undrawn += 1
    if len(trained) > FEW:
        echo("\n".join(_table(rows)))
    verdicts = Counter(NOTHING if analysis is None else analysis.label for _, analysis in rows)
    counts = ", ".join(f"{count} {label}" for label, count in verdicts.most_common())
    echo(f"verdicts: {counts}")
    return verdicts[NOTHING] + undrawn


def _load(saved: "TrainedOnDisk") -> "Network":
    from algophase.storage import load

    run = f"run {saved.run.run_id} (seed {saved.run.seed})"
    if saved.diverged_at is not None:
        raise InputError(f"{run} diverged at epoch {saved.diverged_at}: not analyzed")
    if saved.file is None:
        raise InputError(f"the network of {run} is missing: `algophase retrain` brings it back")
    return load(saved.file)


def _kind(run: "RunSettings") -> str:
    """A transformer's rate, or a linear model's name."""
    from algophase.core.settings import LinearSettings, TransformerSettings

    assert isinstance(run.network, TransformerSettings | LinearSettings)
    return (
        f"{run.network.attention_rate:g}"
        if isinstance(run.network, TransformerSettings)
        else run.network.model
    )


def _title(saved: "TrainedOnDisk") -> str:
    run = saved.run
    what = "attention rate" if run.network.kind == "transformer" else "model"
    width = run.network.to_dict()["width"]
    return f"{what} {_kind(run)}, width {width}, seed {run.seed}, after {saved.epochs:,} epochs"


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


def _along(saved: "TrainedOnDisk", snapshots: Sequence[int]) -> list[str]:
    """A table of the run's snapshots."""
    rows = []
    for epoch, analysis in saved.along().items():
        if epoch in snapshots:
            rows.append([f"{epoch:,}", *_numbers(analysis)])
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
