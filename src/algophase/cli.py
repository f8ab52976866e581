"""The command line: parse, call, print. Errors a user can cause are one line on standard error and a non-zero exit."""

import contextlib
import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from algophase.cli_check import EXAMPLE as CHECK_EXAMPLE
from algophase.cli_check import check_gradients
from algophase.cli_compare import EXAMPLE as COMPARE_EXAMPLE
from algophase.cli_compare import compare
from algophase.cli_explore import EXAMPLE as EXPLORE_EXAMPLE
from algophase.cli_explore import explore
from algophase.cli_output import ImageFormat, complain, distinct, draw, names
from algophase.cli_paper import EXAMPLE as PAPER_EXAMPLE
from algophase.cli_paper import paper
from algophase.cli_report import EXAMPLE as REPORT_EXAMPLE
from algophase.cli_report import report
from algophase.cli_retrain import EXAMPLE as RETRAIN_EXAMPLE
from algophase.cli_retrain import retrain
from algophase.cli_runs import MERGE_EXAMPLE, RUNS_EXAMPLE, merge, runs
from algophase.cli_sweep import EXAMPLE as SWEEP_EXAMPLE
from algophase.cli_sweep import sweep
from algophase.cli_train import EXAMPLE as TRAIN_EXAMPLE
from algophase.cli_train import train
from algophase.errors import InputError, out_of_memory
from algophase.interrupts import lose_no_interrupt

if TYPE_CHECKING:
    from algophase.networks import Network


class Commands(TyperGroup):
    """All commands. Ctrl-C in one that does not see to it itself is a line; typer would end without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Commands,
    help="Which algorithm did this neural network learn? The Clock, the Pizza, a mix of both, or something else.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Algorithm(StrEnum):
    clock = "clock"
    pizza = "pizza"


def _print_version(wanted: bool) -> None:
    if wanted:
        from algophase import __version__

        typer.echo(f"algophase {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(epilog="Example:  algophase analyze networks/ --figures pictures/")
def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Networks: NAME.safetensors (ours), model_<id>.pt (the authors' released ones), or directories of them.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list, one object a network, instead of text.")] = False,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw each network's pictures into DIR/<id>/.")
    ] = None,
    figure_format: Annotated[ImageFormat, typer.Option(help="Format of the pictures.")] = ImageFormat.png,
    min_accuracy: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Accuracy below which a network counts as not learned; the paper asks for 1."),
    ] = 1.0,
) -> None:
    """Say which algorithm networks learned, with the evidence.

    A file that cannot be read is reported and the others are still analysed; the exit code is then 1.
    After Ctrl-C the list of --json holds what is finished; the exit code is then 130.
    """
    from rich.console import Console
    from rich.progress import Progress

    from algophase.analysis.analyze import analyze as analyze_network
    from algophase.analysis.summary import summary
    from algophase.analysis.verdict import Thresholds
    from algophase.storage import find_networks, id_of, load

    thresholds = Thresholds(accuracy=min_accuracy)
    failed = 0
    files: list[Path] = []
    for path in distinct(paths):
        try:
            files += find_networks(path)
        except InputError as error:
            complain(error)
            failed += 1
    files = distinct(files)
    records: list[dict[str, Any]] = []
    drawn: dict[str, int] = {}
    try:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("analysing", total=len(files))
            for file, name in zip(files, names([id_of(file) for file in files], files), strict=True):
                progress.update(bar, description=f"analysing {file.name}".replace("[", r"\["))
                try:
                    network = load(file)
                    analysis = analyze_network(network, thresholds)
                    records.append({"id": analysis.id, "path": str(file), **analysis.to_dict()})
                    if not as_json:
                        progress.console.file.flush()
                        typer.echo(f"{summary(analysis, name)}\n")
                    if figures is not None:
                        draw(network, analysis, figures, figure_format, drawn)
                except InputError as error:
                    complain(error)
                    failed += 1
                progress.advance(bar)
    finally:  # what is finished, after Ctrl-C too
        if as_json:
            typer.echo(json.dumps(records, indent=2))
    if failed:
        raise typer.Exit(1)


@app.command(epilog="Example:  algophase handmade pizza --modulus 113 -k 1 -k 8 -k 30 --out networks/")
def handmade(
    algorithm: Annotated[Algorithm, typer.Argument(help="Which algorithm to build.")],
    modulus: Annotated[int, typer.Option("--modulus", "-p", help="Add modulo this number.")] = 59,
    frequency: Annotated[
        list[int] | None,
        typer.Option(
            "--frequency",
            "-k",
            help="A circle of this frequency; repeat for several.",
            show_default="1 5 17, as far as they fit",
        ),
    ] = None,
    accompanied: Annotated[
        bool, typer.Option("--accompanied", help="Give each Pizza its accompanying one; an even modulus needs them.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory to write the network to.")] = Path("networks"),
) -> None:
    """Write a Clock or a Pizza whose weights are set by hand: a network whose every metric is known."""
    from algophase.networks.handmade import handmade_clock, handmade_pizza
    from algophase.storage import save

    if algorithm is Algorithm.pizza:
        network: Network = handmade_pizza(modulus, frequency or None, accompanied=accompanied)
    elif accompanied:
        raise InputError("--accompanied goes with a pizza; a clock has no blind spot to cover")
    else:
        network = handmade_clock(modulus, frequency or None)
    path = save(network, out / network.id, overwrite=True)
    typer.echo(f"wrote {path}")


app.command(epilog=TRAIN_EXAMPLE)(train)
app.command(epilog=CHECK_EXAMPLE)(check_gradients)
app.command(epilog=SWEEP_EXAMPLE)(sweep)
app.command(epilog=RUNS_EXAMPLE)(runs)
app.command(epilog=MERGE_EXAMPLE)(merge)
app.command(epilog=RETRAIN_EXAMPLE)(retrain)
app.command(epilog=COMPARE_EXAMPLE)(compare)
app.command(epilog=PAPER_EXAMPLE)(paper)
app.command(epilog=REPORT_EXAMPLE)(report)
app.command(epilog=EXPLORE_EXAMPLE)(explore)


def main() -> None:
    """Entry point of the `algophase` command."""
    lose_no_interrupt()
    try:
        app()
    except InputError as error:
        complain(error)
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        complain(f"this does not fit into memory; choose a smaller network or modulus ({error})")
        sys.exit(1)
    except OSError as error:  # a full disk behind standard output, for one; a closed pipe ends in typer
        where = f"{error.filename}: " if error.filename else ""
        complain(f"reading or writing failed: {where}{error.strerror or error}")
        _drop_output()
        sys.exit(1)
    except KeyboardInterrupt:  # before any command began
        complain("interrupted")
        sys.exit(130)


def _drop_output() -> None:
    """What could not be written is not tried once more when Python ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
