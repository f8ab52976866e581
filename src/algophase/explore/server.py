"""Serving pages on this machine: one sweep's, or the map of several."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.explore.app import LOOPBACK, check_installed, make_app, warm
from algophase.explore.site import Site, groups_at

if TYPE_CHECKING:
    from algophase.explore.own import Watcher

FIRST_PORT = 8050


def serve(
    directory: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    cache: Path | None = None,
    started: Callable[[str], Any] = print,
    watcher: "Watcher | None" = None,
) -> None:
    """Open a sweep's page, or the map of a folder's sweeps, in a browser until interrupted.

    It works without a network connection, and needs the extra `explore`.

    Arguments:
        directory: a sweep, a shipped one by its name, a folder of sweeps or of networks. By default
            the map of the current folder's sweeps and the shipped ones.
        host: the address to listen at.
        port: by default 8050, or any free one if that is taken.
        cache: where retrained networks and analyses are kept; by default ~/.cache/algophase.
        started: called with the address once the server answers.
        watcher: gets the progress of the analyses of a directory of networks.

    Returns:
        None, when it is interrupted (Ctrl-C).

    Raises:
        InputError: the directory has no runs and no networks, or the port is taken.

    Example:
        >>> from algophase import serve
        >>> serve("fixed-width", port=8050)  # doctest: +SKIP
        http://127.0.0.1:8050/
    """
    directory = None if directory is None else Path(directory)
    check_installed()
    import torch
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def handle(self) -> None:
            # In this request's own thread. Two threads of torch that share the cores with a browser
            # wait for each other: a network of the paper's size is opened seven times faster by
            # one.
            torch.set_num_threads(1)
            super().handle()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    hosts = LOOPBACK if host in LOOPBACK else ()
    answer, begin, close = _make(directory, cache, hosts, watcher)
    listening = _listen(host, port)
    taken = listening.getsockname()[1]
    server = make_server(
        host, taken, answer, threaded=True, request_handler=Quiet, fd=listening.fileno()
    )
    name = f"[{host}]" if ":" in host else host
    try:
        started(f"http://{name}:{taken}/")
        begin()
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        listening.close()
        close()


def _make(
    directory: Path | None, cache: Path | None, hosts: tuple[str, ...], watcher: "Watcher | None"
) -> tuple[Any, Callable[[], None], Callable[[], None]]:
    """What answers requests, what is to be called when it does, and what ends it."""
    if groups_at(directory):
        site = Site(directory, cache, hosts)
        site.show()  # read before anyone waits for it
        # And what a sweep's page needs, while the map is looked at.
        threading.Thread(target=warm, daemon=True).start()
        return site, lambda: None, site.close
    if directory is None:
        raise InputError(
            "there is no sweep in this folder or in those in it, and none came with the package"
        )
    app, networks = make_app(directory, cache, hosts, watcher=watcher)
    return app.server, networks.begin, networks.close


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in (FIRST_PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((host, candidate), family=family)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            failure = InputError(
                f"cannot listen on {host} port {candidate}: {reason}; choose another --port or "
                "--host"
            )
    raise failure
