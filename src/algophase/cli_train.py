"""The command `algophase train`: settings from options, training, files, and what the networks became."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli_output import ImageFormat, TrainingBar, complain, draw
from algophase.errors import InputError
from algophase.wording import floored

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis
    from algophase.analysis.dynamics import Moment
    from algophase.networks import Network
    from algophase.settings import NetworkSettings, RunSettings
    from algophase.training.loop import Watch

EXAMPLE = "Example:  algophase train --attention-rate 0 --attention-rate 1 --seeds 4 --epochs 8000 --out runs/"
FEW = 4  # up to so many networks are shown in full
NOTHING = "not analysed"  # diverged, or its file is not readable


def train(
    attention_rate: Annotated[
        list[float] | None, typer.Option(help="From 0 (constant attention) to 1; repeat for several.", show_default="1")
    ] = None,
    width: Annotated[
        int | None, typer.Option(help="Size of the residual stream.", show_default="128, linear models 256")
    ] = None,
    layers: Annotated[int | None, typer.Option(help="Attention and MLP blocks.", show_default="1")] = None,
    heads: Annotated[int | None, typer.Option(help="Attention heads.", show_default="4")] = None,
    activation: Annotated[str | None, typer.Option(help="relu or gelu.", show_default="relu")] = None,
    model: Annotated[str, typer.Option(help="transformer, alpha, beta, gamma, delta or alpha-prime.")] = "transformer",
    hidden: Annotated[int | None, typer.Option(help="Hidden units of a linear model.", show_default="256")] = None,
    modulus: Annotated[int, typer.Option("--modulus", "-p", help="Add modulo this number.")] = 59,
    separate_vocabularies: Annotated[
        bool, typer.Option("--separate-vocabularies", help="Give the two operands embeddings of their own.")
    ] = False,
    equals_sign: Annotated[bool, typer.Option("--equals-sign", help="Read the answer at an equals sign.")] = False,
    training_fraction: Annotated[float, typer.Option(help="Share of all pairs that is trained on.")] = 0.8,
    seeds: Annotated[int, typer.Option(help="Networks of each kind, with one seed after the other.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    epochs: Annotated[int, typer.Option(help="Full-batch updates.")] = 20_000,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW.")] = 1e-3,
    weight_decay: Annotated[float, typer.Option(help="Of AdamW, decoupled.")] = 2.0,
    engine: Annotated[str, typer.Option(help="auto, plain, stacked, grid or fused.")] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    precision: Annotated[
        str | None,
        typer.Option(help="float32, float64; on a GPU also tf32, tf32x3.", show_default="tf32 on a GPU, else float32"),
    ] = None,
    history_stride: Annotated[int, typer.Option(help="Epochs between two points of the history.")] = 100,
    snapshot: Annotated[
        list[int] | None,
        typer.Option(metavar="EPOCH", help="Keep and analyse the network at this epoch too; repeat for several."),
    ] = None,
    early_stop: Annotated[
        float | None,
        typer.Option(
            metavar="LOSS",
            help="Stop when all networks validate and their training loss stays below this.",
            show_default="never",
        ),
    ] = None,
    ensemble_size: Annotated[
        int | None, typer.Option(help="Networks that train together.", show_default="as many as fit")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory for networks, histories and snapshots.")] = Path("runs"),
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw each network's pictures into DIR/<id>/.")
    ] = None,
    figure_format: Annotated[ImageFormat, typer.Option(help="Format of the pictures.")] = ImageFormat.png,
    analysis: Annotated[bool, typer.Option("--analysis/--no-analysis", help="Analyse the networks after training.")] = True,
) -> None:
    """Train one or many networks and say which algorithm each learned.

    Runs already in DIR are not trained again, and an interrupted training goes on where it stopped: give the same command.
    """
    from dataclasses import replace

    from algophase.settings import RunSettings, TaskSettings, published_training
    from algophase.training.loop import EarlyStop, Watch

    if seeds < 1:
        raise InputError(f"seeds is {seeds}; it must be an integer of at least 1")
    if figures is not None and not analysis:
        raise InputError("--figures draws what the analysis finds; leave out --no-analysis")
    task = TaskSettings(modulus, separate_vocabularies, equals_sign, training_fraction)
    runs = [
        RunSettings(
            task,
            network,
            replace(published_training(network), epochs=epochs, learning_rate=learning_rate, weight_decay=weight_decay),
            seed,
        )
        for network in _networks(model, attention_rate, width, layers, heads, activation, hidden)
        for seed in range(first_seed, first_seed + seeds)
    ]
    watch = Watch(history_stride, tuple(snapshot or ()), None if early_stop is None else EarlyStop(early_stop))
    _train(runs, engine, device, precision, watch, ensemble_size, out)
    lost = _report(runs, watch, out, figures, figure_format) if analysis else _lost(runs, out)
    typer.echo(f"networks and histories are in {out}", err=True)
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
    """One network a rate, or the one linear model. An option that the model does not have stops here."""
    from algophase.settings import LINEAR_MODELS, LinearSettings, TransformerSettings

    only_transformer = {"--attention-rate": rates, "--layers": layers, "--heads": heads, "--activation": activation}
    if model == "transformer":
        if hidden is not None:
            raise InputError(f"--hidden goes with a linear model: choose --model {', '.join(LINEAR_MODELS)}")
        given = {"width": width, "layers": layers, "heads": heads, "activation": activation}
        options = {name: value for name, value in given.items() if value is not None}
        rates = list(dict.fromkeys(rates or [1.0]))
        return [TransformerSettings(attention_rate=rate, **options) for rate in rates]  # type: ignore[arg-type]
    if model not in LINEAR_MODELS:
        raise InputError(f"model is {model!r}; choose one of transformer, {', '.join(LINEAR_MODELS)}")
    for name, value in only_transformer.items():
        if value is not None:
            raise InputError(f"{name} goes with --model transformer; model {model} has none")
    sizes = {"width": width, "hidden": hidden}
    return [LinearSettings(model, **{name: value for name, value in sizes.items() if value is not None})]


def _train(
    runs: Sequence["RunSettings"],
    engine: str,
    device: str,
    precision: str | None,
    watch: "Watch",
    ensemble_size: int | None,
    directory: Path,
) -> None:
    """Train what is not in the directory yet, each ensemble saved as soon as it is done."""
    from algophase.storage.checkpoints import DirectoryCheckpoints
    from algophase.storage.files import check_directory
    from algophase.storage.run_files import is_complete, save_run
    from algophase.training.train import train_by_ensemble
    from algophase.training.trained import TrainingInterrupted

    missing = [run for run in runs if not is_complete(run, directory, watch.snapshot_epochs, watch.early_stop)]
    kept = DirectoryCheckpoints(directory / ".checkpoints")
    if missing:
        check_directory(directory)
    with TrainingBar() as bar:
        if len(missing) < len(runs):
            bar.say(f"{len(runs) - len(missing)} of {len(runs)} networks are in {directory} already")
        try:
            # Options are checked for all runs, so that a bad one is named even where nothing is left to do.
            if not missing:
                train_by_ensemble(runs, engine, device, precision, watch, ensemble_size=ensemble_size)
            else:
                ensembles = train_by_ensemble(
                    missing, engine, device, precision, watch, kept, bar, bar.say, ensemble_size=ensemble_size
                )
                for _, outcomes in ensembles:
                    for trained in outcomes:
                        save_run(trained, directory, watch.early_stop)
        except TrainingInterrupted as interruption:
            epochs = max(partial.epochs for partial in interruption.partial)
            bar.say(f"interrupted at epoch {epochs:,}; saved in {kept.directory}. The same command goes on from there.")
            raise typer.Exit(130) from None


def _lost(runs: Sequence["RunSettings"], directory: Path) -> int:
    from algophase.storage.run_files import find_run

    saved = [find_run(run, directory) for run in runs]
    return sum(found is not None and found.diverged_at is not None for found in saved)


def _report(
    runs: Sequence["RunSettings"], watch: "Watch", directory: Path, figures: Path | None, figure_format: ImageFormat
) -> int:
    """Analyse every network and print what came out, in full for a few, as a table for many. Returns how many gave nothing."""
    from rich.console import Console
    from rich.progress import Progress

    found: list[tuple[RunSettings, Analysis | None]] = []
    drawn: dict[str, int] = {}
    undrawn = 0
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for run in progress.track(runs, description="analysing"):
            try:
                network, analysis, text = _analysed(run, watch, directory)
            except InputError as error:  # the others are still analysed
                complain(error)
                found.append((run, None))
                continue
            found.append((run, analysis))
            if len(runs) <= FEW:
                typer.echo(text)
            if figures is not None:
                try:
                    draw(network, analysis, figures, figure_format, drawn)
                except InputError as error:
                    complain(error)
                    undrawn += 1
    if len(runs) > FEW:
        typer.echo("\n".join(_table(found)))
    verdicts = Counter(NOTHING if analysis is None else analysis.verdict.label for _, analysis in found)
    typer.echo("verdicts: " + ", ".join(f"{count} {label}" for label, count in verdicts.most_common()))
    return verdicts[NOTHING] + undrawn


def _analysed(run: "RunSettings", watch: "Watch", directory: Path) -> tuple["Network", "Analysis", str]:
    """A run's network from the directory, its analysis, and both in words."""
    from algophase.analysis.analyze import analyze
    from algophase.storage import load
    from algophase.storage.run_files import find_run, network_path

    saved = find_run(run, directory)
    if saved is not None and saved.diverged_at is not None:
        raise InputError(f"run {run.run_id} (seed {run.seed}) diverged at epoch {saved.diverged_at}: not analysed")
    network = load(network_path(run, directory))
    analysis = analyze(network)
    epochs = run.training.epochs if saved is None else saved.epochs
    lines = [_title(run, epochs), "", str(analysis), *_along(_moments(run, watch, directory)), ""]
    return network, analysis, "\n".join(lines)


def _moments(run: "RunSettings", watch: "Watch", directory: Path) -> list["Moment"]:
    """The snapshots' analyses, which are also written to <id>.dynamics.json."""
    from algophase.analysis.dynamics import dynamics
    from algophase.storage import load
    from algophase.storage.files import write_atomically
    from algophase.storage.run_files import network_path

    files = {epoch: network_path(run, directory, epoch) for epoch in watch.snapshot_epochs}
    moments = dynamics({epoch: load(path) for epoch, path in files.items() if path.exists()})
    if moments:
        records = json.dumps([moment.to_dict() for moment in moments], indent=1)
        write_atomically(directory / f"{run.run_id}.dynamics.json", f"{records}\n".encode())
    return moments


def _kind(run: "RunSettings") -> str:
    """A transformer's rate, or a linear model's name."""
    from algophase.settings import LinearSettings, TransformerSettings

    assert isinstance(run.network, TransformerSettings | LinearSettings)
    return f"{run.network.attention_rate:g}" if isinstance(run.network, TransformerSettings) else run.network.model


def _title(run: "RunSettings", epochs: int) -> str:
    what = "attention rate" if run.network.kind == "transformer" else "model"
    return f"{what} {_kind(run)}, width {run.network.to_dict()['width']}, seed {run.seed}, after {epochs:,} epochs"


def _numbers(analysis: "Analysis") -> list[str]:
    values = (analysis.gradient_symmetricity_exact, analysis.distance_irrelevance, analysis.circularity)
    return [
        floored(analysis.accuracy),
        *("-" if math.isnan(value) else f"{value:.4f}" for value in values),
        analysis.verdict.label,
    ]


NUMBERS = ["accuracy", "symmetricity", "irrelevance", "circularity", "verdict"]


def _along(moments: list["Moment"]) -> list[str]:
    rows = [[f"{moment.epoch:,}", *_numbers(moment.analysis)] for moment in moments]
    return ["", "  along training:", *(f"  {line}" for line in _lines([["epoch", *NUMBERS], *rows]))] if rows else []


def _table(found: list[tuple["RunSettings", "Analysis | None"]]) -> list[str]:
    rows = [["id", "rate or model", "seed", *NUMBERS]]
    for run, analysis in found:
        numbers = ["-"] * 4 + [NOTHING] if analysis is None else _numbers(analysis)
        rows.append([run.run_id, _kind(run), str(run.seed), *numbers])
    return _lines(rows)


def _lines(rows: list[list[str]]) -> list[str]:
    """Columns lined up on the right, the last on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]]) for row in rows]
