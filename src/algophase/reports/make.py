"""`report`: networks and sweeps as one HTML page that opens without a network connection."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.reports.network_section import add_index, add_network, add_population, read_history
from algophase.reports.page import Page, paragraph
from algophase.reports.sweep_section import Sweep, add_sweep, read_sweep
from algophase.runs.released_table import read_released_table
from algophase.runs.runs import Runs
from algophase.runs.standing import foreign_settings, is_sweep
from algophase.storage import find_networks, load
from algophase.storage.analyses import (
    Analysed,
    Unusable,
    analyze_sources,
    distinct,
    names,
    network_files,
)
from algophase.storage.gallery import default_gallery, shipped
from algophase.storage.journal import SNAPSHOT

log = logging.getLogger(__name__)

# Of the gallery: the population a plain one-layer network of the published width comes from
HOME = "fixed-width"


@dataclass(frozen=True)
class Report:
    """A page that was written. size: in bytes; problems: why something given is not on it."""

    path: Path
    size: int
    networks: int
    sweeps: int
    problems: tuple[InputError, ...]

    @property
    def contents(self) -> str:
        return _contents(self.networks, self.sweeps)


def report(
    paths: Iterable[str | Path | Network],
    out: str | Path = "report.html",
    *,
    population: str | Path | None = None,
    released: str | Path | None = None,
    title: str | None = None,
    min_accuracy: float = 1.0,
    starting: Callable[[Any, int, int], None] | None = None,
    format: str | None = None,
    activation: str | None = None,
    attention_rate: float | None = None,
    modulus: int | None = None,
    state: str | None = None,
) -> Report:
    """Write one HTML page about networks and sweeps.

    paths: network files, directories of them, networks themselves, sweeps' directories, Parquet
        files of runs, names of shipped sweeps.
    out: the page to write.
    population: the sweep whose runs networks are set among; by default the gallery's fixed-width,
        for networks of its kind.
    released: the authors' released table, which sweeps are compared with.
    title: the page's title; by default its contents.
    min_accuracy: accuracy from which a network counts as having learned.
    starting: called before a network is analysed with its file, its number from 1, and how many
        there are.
    format, activation, attention_rate, modulus, state: of network files that do not say so
        themselves (`load`).

    What cannot be read is logged as an error and the rest is still written.

    Returns a `Report`: its `path`, its `contents` in words, and `problems`, why something given is
    not on the page. It needs the extra `explore`.

    >>> from algophase import handmade_pizza, report
    >>> page = report([handmade_pizza(7, (1, 2))], directory / "report.html")
    >>> page.contents, page.problems
    ('1 network', ())
    """
    out = Path(out)
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the page is {out}; give a name that ends in .html")
    page = Page("algophase report")
    theirs = None if released is None else read_released_table(released)
    home = None if population is None else Runs.read(population)
    sweeps, problems = list[Sweep](), list[InputError]()
    paths = list(paths)
    networks = [each for each in paths if isinstance(each, Network)]
    given = distinct(shipped(each) for each in paths if not isinstance(each, Network))
    tables = [path for path in given if is_sweep(path)]
    for path in tables:
        try:
            sweeps.append(read_sweep(path))
        except InputError as error:
            problems.append(error)
    files, unfound = network_files([path for path in given if path not in tables], _networks)

    def load_one(source: Path | Network) -> Network:
        if isinstance(source, Network):
            return source
        return load(
            source, format, activation, attention_rate=attention_rate, modulus=modulus, state=state
        )

    sources: list[Source] = [*networks, *files]
    analysed = analyze_sources(sources, load_one, Thresholds(accuracy=min_accuracy), starting)
    examined, unusable = _examine(list(analysed))
    problems += [*unfound, *unusable]
    for problem in problems:
        log.error("%s", problem)
    if not examined and not sweeps:
        raise InputError("nothing to report on: no network and no sweep could be read")
    if theirs is not None and not sweeps:
        raise InputError("--released compares sweeps; give a sweep's directory as well")
    asked = home is not None
    if home is None and examined:
        home = _shipped_population()
    fits = [
        home is not None and (asked or not foreign_settings(item.network, home))
        for item in examined
    ]
    about = _contents(len(examined), len(sweeps))
    page.title = title or _title(
        [*(item.name for item in examined), *(sweep.title for sweep in sweeps)]
    )
    page.lead = (
        f"{about}: which algorithm each learned, and the evidence."
        if examined
        else f"{about}: which algorithms were learned."
    )
    if len(examined) > 1:
        add_index(page, examined)
    if home is not None and any(fits):
        add_population(page, home, examined, fits)
    elif examined:
        page.add(
            paragraph(
                "No population of runs like these was found; --population DIR sets them among a "
                "sweep's.",
                "note",
            )
        )
    for number, item in enumerate(examined, 1):
        add_network(page, number, item, home if fits[number - 1] else None, len(examined))
    for number, sweep in enumerate(sweeps, 1):
        add_sweep(page, sweep, theirs, f"sweep-{number}")
    return Report(out, page.write(out), len(examined), len(sweeps), tuple(problems))


def _networks(path: Path) -> list[Path]:
    """Network files; of a directory without the snapshots of the networks in it."""
    found = find_networks(path)
    ends = {file.stem for file in found}
    return [
        file
        for file in found
        if len(found) == 1 or file.stem.partition(SNAPSHOT)[0] not in ends - {file.stem}
    ]


Source = Path | Network


def _examine(
    found: Sequence[Analysed[Source] | Unusable[Source]],
) -> tuple[list[Specimen], list[InputError]]:
    """The networks with their analyses and training curves, and why others have none."""
    analysed = [each for each in found if isinstance(each, Analysed)]
    files = [
        each.source if isinstance(each.source, Path) else Path(each.analysis.id)
        for each in analysed
    ]
    called = names([each.analysis.id for each in analysed], files)
    specimens = [_with_history(each, name) for each, name in zip(analysed, called, strict=True)]
    return specimens, [each.problem for each in found if isinstance(each, Unusable)]


def _with_history(found: Analysed[Source], name: str) -> Specimen:
    history, notes = None, list[str]()
    try:
        if isinstance(found.source, Path):
            history = read_history(found.network, found.source)
    except InputError as error:
        notes = [f"Its training curves cannot be shown: {error}"]
    return Specimen(found.network, found.analysis, name=name, notes=notes, history=history)


def _shipped_population() -> Runs | None:
    gallery = default_gallery()
    if gallery is None or not (gallery / HOME).is_dir() or not is_sweep(gallery / HOME):
        return None
    return Runs.read(gallery / HOME)


def _contents(networks: int, sweeps: int) -> str:
    found = [(networks, "network"), (sweeps, "sweep")]
    return " and ".join(counted(count, what) for count, what in found if count)


def _title(about: list[str]) -> str:
    return "algophase report: " + (
        ", ".join(about) if len(about) <= 3 else f"{', '.join(about[:2])} and {len(about) - 2} more"
    )
