"""`algophase explore`: a sweep as a page to look around in, served on this machine."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "Example:  algophase explore gallery/fixed-width"


def explore(
    sweep: Annotated[Path, typer.Argument(metavar="SWEEP", help="A sweep's directory, or a Parquet file of runs.")],
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to serve on.", show_default="8050, or a free one")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to serve on. Others than 127.0.0.1 let other machines in, without a password.")
    ] = "127.0.0.1",
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where retrained networks are kept.", show_default="~/.cache/algophase/networks"),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Look around in a sweep: the phase diagram is a map; a click shows a run's network, circles to switch on and off.

    The page works without a network connection and sends nothing anywhere. Ctrl-C ends it.
    """
    from algophase.explore.server import serve

    def started(address: str) -> None:
        typer.echo(f"exploring {sweep} at {address} (Ctrl-C ends it)")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(sweep, host, port, cache, started)
