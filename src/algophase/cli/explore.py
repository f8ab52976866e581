"""`algophase explore`: a sweep as an interactive page, served on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import Activation, AttentionRate, FileGroup, FileModulus, Format, State
from algophase.cli.output import CommandBar, echo
from algophase.core.errors import InputError
from algophase.core.progress import Progress

EXAMPLE = "algophase explore fixed-width"


def explore(
    sweep: Annotated[
        Path | None,
        typer.Argument(
            metavar="SWEEP",
            autocompletion=completion.sweeps,
            help="A sweep, a Parquet file of runs, a shipped sweep, a folder of sweeps, or a "
            "directory of networks.",
            show_default="all sweeps of the current folder and all shipped ones",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Port to serve on.", show_default="8050, or a free one"
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="Address to serve on. Any but 127.0.0.1 gives other machines access, without a "
            "password."
        ),
    ] = "127.0.0.1",
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where retrained networks and analyses are kept.",
            show_default="~/.cache/algophase",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser.")
    ] = False,
    format: Format = None,
    activation: Activation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Explore sweeps in a browser: choose a population on the map, then a run in its phase
    diagram, and see its network.

    The page works without a network connection and sends no data. Ctrl-C stops it.
    """
    from algophase.explore.server import serve

    def started(address: str) -> None:
        echo(
            f"exploring {'all populations' if sweep is None else sweep} at {address} (Ctrl-C "
            "stops it)"
        )
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    progress = ArrivalBar()
    try:
        serve(
            sweep,
            host,
            port,
            cache,
            started,
            progress,
            format=format,
            activation=activation,
            attention_rate=attention_rate,
            modulus=modulus,
            state=state,
            group=group,
        )
    finally:
        progress.close()


class ArrivalBar:
    """The analyses of a directory of networks: a bar while there are some under way, a line for
    each problem.
    """

    def __init__(self) -> None:
        self.bar: CommandBar | None = None

    def starting(self, progress: Progress) -> None:
        if self.bar is None:
            self.bar = CommandBar().__enter__()
        self.bar(progress)

    def failed(self, problem: InputError) -> None:
        if self.bar is not None:
            self.bar.complain(problem)

    def finished(self, summary: str) -> None:
        self.close()
        echo(summary, err=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.__exit__(None, None, None)
            self.bar = None
