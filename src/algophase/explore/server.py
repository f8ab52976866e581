"""The page's server: an app that can be tested without a browser, and serving it on this machine."""

import html
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.errors import InputError
from algophase.settings import shown

if TYPE_CHECKING:
    from dash import Dash

    from algophase.explore.networks import Networks

log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
FIRST_PORT = 8050
NO_ICON = '<link rel="icon" href="data:,">'  # the browser would ask for one at every change of the address
# The plotting library is asked for at once, not when the first picture is.
PRELOAD = '<link rel="preload" as="script" href="/_dash-component-suites/plotly/package_data/plotly.min.js">'


def check_installed() -> None:
    try:
        import dash  # noqa: F401
        import plotly  # noqa: F401
    except ImportError:
        raise InputError('the explorer needs dash and plotly; install them with: pip install "algophase[explore]"') from None


def make_app(directory: Path, cache: Path | None = None, hosts: tuple[str, ...] = LOOPBACK) -> "tuple[Dash, Networks]":
    """The page of a sweep or of a directory of networks, and its networks: call their `close` at the end to stop all work.

    hosts: names under which the page may be asked for; () for any. A website that has its own name point here is refused.
    """
    check_installed()
    from dash import Dash

    from algophase.explore.callbacks import register
    from algophase.explore.explorer import Explorer
    from algophase.explore.layout import make_layout
    from algophase.explore.networks import Networks
    from algophase.explore.own import are_networks, read_networks
    from algophase.explore.table import read_run_table
    from algophase.storage.gallery import shipped

    directory = shipped(directory)
    if are_networks(directory):
        table, networks = read_networks(directory)
    else:
        table = read_run_table(directory)
        networks = Networks(table, directory, cache)
    app = Dash(
        __name__,
        title=f"algophase explore: {html.escape(table.name)}",
        update_title="",
        serve_locally=True,
        compress=False,
        assets_folder=str(Path(__file__).parent / "assets"),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.index_string = app.index_string.replace("{%metas%}", "{%metas%}" + PRELOAD).replace("{%favicon%}", NO_ICON)
    app.layout = make_layout(table)
    if table.count and table.axes:
        explorer = Explorer(table, networks)
        explorer.show_map("", None)  # what is slow the first time is done before anyone waits for it
        explorer.show_runs("", 0)
        register(app, explorer)
    _guard(app, hosts)
    return app, networks


def _guard(app: "Dash", hosts: tuple[str, ...]) -> None:
    """Answer only requests made to this page under its own name, and let the browser load nothing from elsewhere.

    A request that is not of this page's making is refused with one line, here and in the answer.
    """
    from flask import Response, abort, request
    from werkzeug.exceptions import HTTPException

    policy = (
        f"default-src 'self'; script-src 'self' 'unsafe-eval' {' '.join(app.csp_hashes())}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )

    def refuse_strangers() -> None:
        name = request.host.rpartition(":")[0] if request.host.rpartition("]")[2].count(":") else request.host
        origin = request.headers.get("Origin")
        if (hosts and name.strip("[]") not in hosts) or (origin is not None and origin != request.host_url.rstrip("/")):
            abort(403)

    def close_the_page(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def refuse_nonsense(error: Exception) -> "Response | HTTPException":
        if isinstance(error, HTTPException):
            return error
        log.warning("a request was refused: %s: %s", type(error).__name__, shown(str(error)))
        log.debug("where it failed", exc_info=error)
        return Response("this request is not one of this page's\n", 400, mimetype="text/plain")

    app.server.register_error_handler(Exception, refuse_nonsense)
    app.server.before_request(refuse_strangers)
    app.server.after_request(close_the_page)


def serve(
    directory: Path,
    host: str = "127.0.0.1",
    port: int | None = None,
    cache: Path | None = None,
    started: Callable[[str], Any] = print,
) -> None:
    """Serve a sweep's page until interrupted. started: called with the address once it answers.

    port: by default FIRST_PORT, or any free one if that is taken.
    """
    check_installed()
    import torch
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def handle(self) -> None:
            # In this request's own thread. Two threads of torch that share the cores with a browser wait for each other:
            # a network of the paper's size is opened seven times faster by one.
            torch.set_num_threads(1)
            super().handle()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    app, networks = make_app(directory, cache, LOOPBACK if host in LOOPBACK else ())
    listening = _listen(host, port)
    taken = listening.getsockname()[1]
    server = make_server(host, taken, app.server, threaded=True, request_handler=Quiet, fd=listening.fileno())
    try:
        started(f"http://{f'[{host}]' if ':' in host else host}:{taken}/")
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        listening.close()
        networks.close()


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in (FIRST_PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((host, candidate), family=family)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            failure = InputError(f"cannot listen on {host} port {candidate}: {reason}; choose another --port or --host")
    raise failure
