"""Serving pages on this machine: one sweep's, or the map of all populations with the page of each
sweep behind it.

The map is static HTML and is there at once. A sweep's page is made when it is first asked for.
"""

import re
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.core.gallery import default_gallery
from algophase.core.settings import shown
from algophase.core.wording import counted
from algophase.explore.app import (
    ASSETS,
    LOOPBACK,
    NO_ICON,
    check_installed,
    guard,
    make_app,
    warm,
)
from algophase.explore.own import are_networks
from algophase.reports.page import text
from algophase.reports.population_map import card, key
from algophase.runs.populations import Population, find_sweeps, read_population, stamp
from algophase.runs.read_runs import is_sweep
from algophase.storage.files import shipped
from algophase.storage.formats.contents import Reading

if TYPE_CHECKING:
    from flask import Flask

    from algophase.explore.networks import Networks
    from algophase.explore.own import Watcher

FIRST_PORT = 8050
Answer = Callable[[dict[str, Any], Any], Iterable[bytes]]  # a WSGI application
SWEEP = re.compile(r"/sweep/([^/]+)(/.*)?", re.DOTALL)
PROBLEM = "algophase.problem"  # in a request: why the map is shown in place of a sweep's page
HeadedSweeps = tuple[str, Sequence[Path]]  # a heading, and the sweeps under it
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>{icon}<link rel="stylesheet" href="/assets/explore.css">
<link rel="stylesheet" href="/assets/populations.css"></head>
<body><a class="skip" href="#main">Skip to the populations</a>{body}</body></html>
"""
ABOUT = (
    "One point per run, by its two metrics; the dotted lines are the paper's. Clocks are at the "
    "upper left, Pizzas at the lower right. Choose a population to explore its runs and networks."
)


def serve(
    directory: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    cache: Path | None = None,
    started: Callable[[str], Any] = print,
    watcher: "Watcher | None" = None,
    *,
    format: str | None = None,
    activation: str | None = None,
    attention_rate: float | None = None,
    modulus: int | None = None,
    state: str | None = None,
    group: object = None,
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
        format, activation, attention_rate, modulus, state, group: of network files that do not
            say so themselves (`load`).

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
    reading = Reading(format, activation, attention_rate, modulus, state, group)
    answer, begin, close = _make(directory, cache, hosts, watcher, reading)
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
    directory: Path | None,
    cache: Path | None,
    hosts: tuple[str, ...],
    watcher: "Watcher | None" = None,
    reading: Reading = Reading(),
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
    app, networks = make_app(directory, cache, hosts, watcher=watcher, reading=reading)
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


def groups_at(folder: Path | None) -> list[HeadedSweeps]:
    """The sweeps in a folder; without one, those of the current folder and the shipped ones. Empty
    where it holds none itself.

    A sweep or a directory of networks is not a folder of sweeps, whatever else is in it.
    """
    if folder is not None:
        folder = shipped(folder)
        if not folder.is_dir() or is_sweep(folder) or are_networks(folder):
            return []
        sweeps = find_sweeps(folder)
        return [(f"Sweeps in {folder}", sweeps)] if sweeps else []
    gallery = default_gallery()
    ours = [] if gallery is None else find_sweeps(gallery)
    shipped_paths = {path.resolve() for path in ours}
    yours = [path for path in find_sweeps(Path()) if path.resolve() not in shipped_paths]
    groups = [("Your sweeps", yours), ("Shipped with algophase", ours)]
    return [(heading, paths) for heading, paths in groups if paths]


class Site:
    """A WSGI application: the map at `/`, the page of a sweep at `/sweep/NAME/`. `close` stops
    all work in the background.
    """

    def __init__(
        self, folder: Path | None, cache: Path | None = None, hosts: tuple[str, ...] = LOOPBACK
    ) -> None:
        self.folder, self.cache, self.hosts = folder, cache, hosts
        # What was read of a sweep, and the stamp of its files then
        self._populations: dict[Path, tuple[object, Population]] = {}
        self._names: dict[str, Path] = {}  # in addresses
        self._open: dict[str, tuple[object, Answer, Networks]] = {}
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._map = self._make_map()

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        sweep_path = SWEEP.fullmatch(str(environ.get("PATH_INFO", "")))
        if sweep_path is None:
            return self._map.wsgi_app(environ, start)
        name = sweep_path[1]
        rest = sweep_path[2] or "/"
        try:
            page = self._page(name, fresh=rest == "/")
        except InputError as error:
            return self._map.wsgi_app({**environ, "PATH_INFO": "/", PROBLEM: str(error)}, start)
        return page({**environ, "SCRIPT_NAME": f"/sweep/{name}", "PATH_INFO": rest}, start)

    def close(self, seconds: float = 10.0) -> None:
        for _, _, networks in self._open.values():
            networks.close(seconds)

    def populations(self) -> list[tuple[str, list[tuple[str, Population]]]]:
        """Under each heading, the populations as they are now, each with its name in addresses."""
        groups = []
        for heading, paths in groups_at(self.folder):
            groups.append((heading, [(self._name(path), self._read(path)) for path in paths]))
        return groups

    def _read(self, path: Path) -> Population:
        files = stamp(path)
        files_read, population = self._populations.get(path, (None, None))
        if population is None or files_read != files:
            population = read_population(path)
            self._populations[path] = files, population
        return population

    def _name(self, path: Path) -> str:
        with self._lock:
            for name, named_path in self._names.items():
                if named_path == path:
                    return name
            start = re.sub(r"[^A-Za-z0-9._-]+", "-", path.resolve().name).strip(".-") or "sweep"
            name, number = start, 2
            while name in self._names:
                name = f"{start}-{number}"
                number = number + 1
            self._names[name] = path
            return name

    def _page(self, name: str, fresh: bool) -> Answer:
        """fresh: the page itself is asked for, and not an answer of the one that is shown: a
        sweep that grew is read again.
        """
        if name not in self._names:
            self.populations()  # it may be new
        if name not in self._names:
            raise InputError(f"there is no sweep {shown(name)} here")
        with self._opening:
            files, page, networks = self._open.get(name, (None, None, None))
            files_now = stamp(self._names[name]) if fresh else files
            if page is None or networks is None or (files_now != files and not networks.busy):
                at = f"/sweep/{name}/"
                app, networks_now = make_app(self._names[name], self.cache, self.hosts, at)
                if networks is not None:
                    networks.close()
                page = app.server.wsgi_app
                self._open[name] = files_now, page, networks_now
            return page

    def _make_map(self) -> "Flask":
        from flask import Flask, request

        def show() -> str:
            return self.show(request.environ.get(PROBLEM, ""))

        app = Flask(__name__, static_folder=str(ASSETS), static_url_path="/assets")
        app.add_url_rule("/", view_func=show)
        guard(app, self.hosts)
        return app

    def show(self, problem: str = "") -> str:
        """The map as a page. problem: what to say above it."""
        groups = self.populations()
        every = [population for _, members in groups for _, population in members]
        runs = sum(population.runs for population in every)
        title = text(f"algophase: {counted(len(every), 'population')}, {counted(runs, 'run')}")
        verdicts = dict.fromkeys(verdict for population in every for verdict in population.counts)
        alert = f'<p class="problem" role="alert">{text(problem)}</p>' if problem else ""
        about = f'<p class="note">{ABOUT}</p>{key(verdicts)}'
        head = f'<header class="page"><h1>{title}</h1>{alert}{about}</header>'
        lists = []
        for heading, members in groups:
            cards = [card(population, f"/sweep/{name}/") for name, population in members]
            lists.append(f"<h2>{text(heading)}</h2>")
            lists.append(f'<ul class="populations">{"".join(cards)}</ul>')
        body = f'{head}<main id="main">{"".join(lists)}</main>'
        return PAGE.format(title=title, icon=NO_ICON, body=body)
