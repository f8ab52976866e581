"""The map of all populations, with the page of each sweep behind it: one server for a folder of
sweeps.

The map is plain HTML and is there at once. A sweep's page is made when it is first asked for.
"""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.core.wording import counted
from algophase.explore.app import ASSETS, LOOPBACK, NO_ICON, guard, make_app
from algophase.explore.own import are_networks
from algophase.reports.page import text
from algophase.reports.population_map import card, key
from algophase.runs.populations import Population, find_sweeps, read_population, stamp
from algophase.runs.standing import is_sweep
from algophase.storage.gallery import default_gallery, shipped

if TYPE_CHECKING:
    from flask import Flask

    from algophase.explore.networks import Networks

Answer = Callable[[dict[str, Any], Any], Iterable[bytes]]  # a WSGI application
SWEEP = re.compile(r"/sweep/([^/]+)(/.*)?", re.DOTALL)
PROBLEM = "algophase.problem"  # in a request: why the map is shown in place of a sweep's page
Group = tuple[str, Sequence[Path]]  # a heading, and the sweeps under it
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>{icon}<link rel="stylesheet" href="/assets/explore.css">
<link rel="stylesheet" href="/assets/populations.css"></head>
<body><a class="skip" href="#main">Skip to the populations</a>{body}</body></html>
"""
TOLD = (
    "One point per run, by its two metrics; dotted: where the paper draws its lines. Clocks lie "
    "up on the left, Pizzas down "
    "on the right. Choose a population to explore its runs and networks."
)


def groups_at(place: Path | None) -> list[Group]:
    """The sweeps in a folder; without one, those of the current folder and the shipped ones. Empty
    where it holds none itself.

    A sweep or a directory of networks is not a folder of sweeps, whatever else is in it.
    """
    if place is not None:
        place = shipped(place)
        if not place.is_dir() or is_sweep(place) or are_networks(place):
            return []
        own, gallery = find_sweeps(place), None
        heading = f"Sweeps in {place}"
    else:
        gallery, heading = default_gallery(), "Your sweeps"
        own = find_sweeps(Path())
    ours = [] if gallery is None else find_sweeps(gallery)
    known = {path.resolve() for path in ours}
    found = [
        (heading, [path for path in own if path.resolve() not in known]),
        ("Shipped with algophase", ours),
    ]
    return [(name, paths) for name, paths in found if paths]


class Site:
    """A WSGI application: the map at `/`, the page of a sweep at `/sweep/NAME/`. `close` stops
    all work in the background.
    """

    def __init__(
        self, place: Path | None, cache: Path | None = None, hosts: tuple[str, ...] = LOOPBACK
    ) -> None:
        self.place, self.cache, self.hosts = place, cache, hosts
        self._seen: dict[
            Path, tuple[object, Population]
        ] = {}  # what was read of a sweep, and of which of its files
        self._names: dict[str, Path] = {}  # in addresses
        self._open: dict[str, tuple[object, Answer, Networks]] = {}
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._map = self._make_map()

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        asked = SWEEP.fullmatch(str(environ.get("PATH_INFO", "")))
        if asked is None:
            return self._map.wsgi_app(environ, start)
        name, rest = asked[1], asked[2] or "/"
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
        return [
            (head, [(self._name(path), self._read(path)) for path in paths])
            for head, paths in groups_at(self.place)
        ]

    def _read(self, path: Path) -> Population:
        files = stamp(path)
        seen, population = self._seen.get(path, (None, None))
        if population is None or seen != files:
            population = read_population(path)
            self._seen[path] = files, population
        return population

    def _name(self, path: Path) -> str:
        with self._lock:
            for name, held in self._names.items():
                if held == path:
                    return name
            start = re.sub(r"[^A-Za-z0-9._-]+", "-", path.resolve().name).strip(".-") or "sweep"
            more = (f"{start}-{number}" for number in range(2, len(self._names) + 3))
            name = next(name for name in (start, *more) if name not in self._names)
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
            now = stamp(self._names[name]) if fresh else files
            if page is None or networks is None or (now != files and not networks.busy):
                app, after = make_app(self._names[name], self.cache, self.hosts, f"/sweep/{name}/")
                if networks is not None:
                    networks.close()
                page = app.server.wsgi_app
                self._open[name] = now, page, after
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
        found = self.populations()
        every = [population for _, some in found for _, population in some]
        runs = sum(population.runs for population in every)
        title = f"algophase: {counted(len(every), 'population')}, {counted(runs, 'run')}"
        verdicts = dict.fromkeys(verdict for population in every for verdict in population.counts)
        lists = "".join(
            f"<h2>{text(head)}</h2><ul "
            f'class="populations">{"".join(card(each, f"/sweep/{name}/") for name, each in some)}</ul>'
            for head, some in found
        )
        wrong = f'<p class="problem" role="alert">{text(problem)}</p>' if problem else ""
        head = (
            f'<header class="page"><h1>{text(title)}</h1>{wrong}<p '
            f'class="note">{TOLD}</p>{key(verdicts)}</header>'
        )
        return PAGE.format(
            title=text(title), icon=NO_ICON, body=f'{head}<main id="main">{lists}</main>'
        )
