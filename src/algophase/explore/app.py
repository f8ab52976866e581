"""The page of one sweep as an app that can be tested without a browser, and what guards every
page.
"""

import html
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.explore.view import SIDES, View, decode
from algophase.runs.read_runs import is_sweep
from algophase.storage.formats.contents import Reading

if TYPE_CHECKING:
    from dash import Dash
    from flask import Flask

    from algophase.explore.explorer import Explorer
    from algophase.explore.networks import Networks
    from algophase.explore.own import Watcher

log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# The browser would ask for one at every change of the address
NO_ICON = '<link rel="icon" href="data:,">'
# The plotting library is asked for at once, not when the first picture is.
PRELOAD = (
    '<link rel="preload" as="script" '
    'href="{at}_dash-component-suites/plotly/package_data/plotly.min.js">'
)
ASSETS = Path(__file__).parent / "assets"


def check_installed() -> None:
    try:
        import dash  # noqa: F401
        import plotly  # noqa: F401
    except ImportError:
        raise InputError(
            "the explorer needs dash and plotly; install them with: pip install "
            '"algophase[explore]"'
        ) from None


def warm() -> None:
    """Import what makes a page, which takes a second or two."""
    import algophase.explore.layout
    import algophase.explore.network_callbacks  # noqa: F401


def make_app(
    directory: Path,
    cache: Path | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
    at: str = "/",
    watcher: "Watcher | None" = None,
    reading: Reading = Reading(),
) -> "tuple[Dash, Networks]":
    """The page of a sweep or of a directory of networks, and its networks.

    Call their `begin` once the page is served, and their `close` at the end to stop all work.

    hosts: names under which the page may be asked for; () for any. A website that has its own name
        point here is refused.
    at: how its addresses begin, where it is one of several pages behind a map.
    watcher: is told how the analyses of a directory of networks go.
    reading: what is said about networks whose files do not say so.
    """
    check_installed()
    from dash import Dash

    from algophase.explore.callbacks import register
    from algophase.explore.explorer import Explorer
    from algophase.explore.layout import make_layout
    from algophase.explore.network_callbacks import register_network
    from algophase.explore.networks import Networks
    from algophase.explore.own import OwnNetworks, are_networks
    from algophase.explore.visible_runs import axes, open_sweep
    from algophase.storage.files import shipped
    from algophase.storage.kept_analyses import KeptAnalyses

    directory = shipped(directory)
    networks: Networks
    if not is_sweep(directory) and are_networks(directory):
        kept = KeptAnalyses(None if cache is None else cache / "analyses")
        networks = OwnNetworks(directory, kept, watcher, reading)
    else:
        networks = Networks(open_sweep(directory), directory, cache)
    runs = networks.data.runs
    growing = networks.arrivals is not None
    app = Dash(
        __name__,
        title=f"algophase explore: {html.escape(runs.name)}",
        update_title="",
        serve_locally=True,
        compress=False,
        requests_pathname_prefix=at,
        routes_pathname_prefix="/",
        assets_folder=str(ASSETS),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    head = "{%metas%}" + PRELOAD.format(at=at)
    app.index_string = app.index_string.replace("{%metas%}", head).replace("{%favicon%}", NO_ICON)

    def layout() -> object:
        return make_layout(networks.data, behind_a_map=at != "/", growing=growing)

    # Made for each that opens the page, with the networks that have come by then.
    app.layout = layout
    if growing or (len(runs) and axes(runs)):
        explorer = Explorer(networks)
        # What is slow the first time is done before anyone waits for it.
        explorer.show_map(View(), None)
        explorer.show_runs(View(), 0)
        register(app, explorer)
        for side in SIDES:
            register_network(app, explorer, side)
        serve_csv(app.server, explorer)
    guard(app.server, hosts, app.csp_hashes())
    return app, networks


def serve_csv(server: "Flask", explorer: "Explorer") -> None:
    """The runs of an address as a file to download, at `runs.csv` with the page's own query."""
    from flask import Response, request

    def download() -> Response:
        view = decode(request.query_string.decode("utf-8", "replace"))
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", explorer.runs.name).strip(".-") or "runs"
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return Response(explorer.csv(view), mimetype="text/csv", headers=headers)

    server.add_url_rule("/runs.csv", view_func=download)


def guard(server: "Flask", hosts: tuple[str, ...], scripts: Sequence[str] = ()) -> None:
    """Answer only requests made to this page under its own name, and let the browser load nothing
    from elsewhere.

    A request that is not of this page's making is refused with one line, here and in the answer.
    scripts: hashes of those that stand in the page.
    """
    from flask import Response, abort, request
    from werkzeug.exceptions import HTTPException

    policy = "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self' 'unsafe-eval' {' '.join(scripts)}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )

    def refuse_strangers() -> None:
        has_port = ":" in request.host.rpartition("]")[2]
        name = request.host.rpartition(":")[0] if has_port else request.host
        if hosts and name.strip("[]") not in hosts:
            abort(403)
        origin = request.headers.get("Origin")
        if origin is not None and origin != request.host_url.rstrip("/"):
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

    server.register_error_handler(Exception, refuse_nonsense)
    server.before_request(refuse_strangers)
    server.after_request(close_the_page)
