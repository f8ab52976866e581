"""`report`: networks and sweeps as one HTML page that opens without a network connection."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.gallery import default_gallery
from algophase.core.progress import Progress, ignore
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.reports._sweep_section import Sweep, add_sweep, read_sweep
from algophase.reports.network_section import add_index, add_network, add_population, read_history
from algophase.reports.page import Page, paragraph
from algophase.runs.read_runs import is_sweep
from algophase.runs.released_table import read_released_table
from algophase.runs.runs import Runs
from algophase.runs.standing import foreign_settings
from algophase.storage import find_networks, load
from algophase.storage.analyses import (
    Analyzed,
    Unusable,
    analyze_sources,
    distinct,
    names,
    network_files,
)
from algophase.storage.files import shipped
from algophase.storage.identity import holds_given_runs
from algophase.storage.sweep_directory import SNAPSHOT

log = logging.getLogger(__name__)

# Of the gallery: the population a one-layer network of the published width comes from
HOME = "fixed-width"


@dataclass(frozen=True)
class Report:
    """A page that was written.

    Attributes:
        path: its file.
        size: in bytes.
        networks: how many are on it.
        sweeps: how many are on it.
        problems: why something given is not on it.
    """

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
    progress: Callable[[Progress], None] = ignore,
    format: str | None = None,
    activation: str | None = None,
    attention_rate: float | None = None,
    modulus: int | None = None,
    state: str | None = None,
    group: object = None,
) -> Report:
    """Write one HTML page about networks and sweeps.

    What cannot be read is logged as an error; the rest is still written. It needs the extra
    `explore`.

    Arguments:
        paths: network files, directories of them, networks themselves, sweeps' directories, Parquet
            files of runs, names of shipped sweeps.
        out: the page to write.
        population: the sweep whose runs networks are shown among; by default the gallery's
            fixed-width, for networks of its kind.
        released: the authors' released table, which sweeps are compared with.
        title: the page's title; by default its contents.
        min_accuracy: accuracy from which a network counts as having learned.
        progress: called with a `Progress` before each network is analyzed.
        format, activation, attention_rate, modulus, state, group: what network files do not say
            themselves; see `load`.

    Returns:
        A `Report`: its `path`, its `contents` in words, and `problems`, why something given is not
        on the page.

    Raises:
        InputError: nothing could be read, or `out` does not end in .html.

    Example:
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
    sweeps = list[Sweep]()
    problems = list[InputError]()
    paths = list(paths)
    networks = [item for item in paths if isinstance(item, Network)]
    on_disk = distinct(shipped(item) for item in paths if not isinstance(item, Network))
    # What `train` made is shown network by network
    tables = [path for path in on_disk if is_sweep(path) and not holds_given_runs(path)]
    for path in tables:
        try:
            sweeps.append(read_sweep(path))
        except InputError as error:
            problems.append(error)
    files, unfound = network_files([path for path in on_disk if path not in tables], _networks)

    def load_one(source: Path | Network) -> Network:
        if isinstance(source, Network):
            return source
        return load(
            source,
            format,
            activation,
            attention_rate=attention_rate,
            modulus=modulus,
            state=state,
            group=group,
        )

    sources: list[Source] = [*networks, *files]
    analyzed = analyze_sources(sources, load_one, Thresholds(accuracy=min_accuracy), progress)
    examined, unusable = _examine(list(analyzed))
    problems += [*unfound, *unusable]
    for problem in problems:
        log.error("%s", problem)
    if not examined and not sweeps:
        raise InputError("nothing to report on: no network and no sweep could be read")
    if theirs is not None and not sweeps:
        raise InputError("--released compares sweeps; give a sweep's directory as well")
    # A population that was asked for takes every network; the shipped one those of its kind.
    fits = [home is not None] * len(examined)
    if home is None and examined:
        home = _shipped_population()
        if home is not None:
            fits = [not foreign_settings(item.network, home) for item in examined]
    item_names = [item.name for item in examined]
    sweep_names = [sweep.title for sweep in sweeps]
    page.title = title or _title([*item_names, *sweep_names])
    about = _contents(len(examined), len(sweeps))
    page.lead = f"{about}: which algorithms were learned."
    if examined:
        page.lead = f"{about}: which algorithm each learned, and the evidence."
    if len(examined) > 1:
        add_index(page, examined)
    if home is not None and any(fits):
        add_population(page, home, examined, fits)
    elif examined:
        note = "No population of runs like these was found; --population DIR sets them among a "
        page.add(paragraph(f"{note}sweep's.", "note"))
    for number, item in enumerate(examined, 1):
        add_network(page, number, item, home if fits[number - 1] else None, len(examined))
    for number, sweep in enumerate(sweeps, 1):
        add_sweep(page, sweep, theirs, f"sweep-{number}")
    return Report(out, page.write(out), len(examined), len(sweeps), tuple(problems))


def _networks(path: Path) -> list[Path]:
    """Network files; of a directory without the snapshots of the networks in it."""
    files = find_networks(path)
    if len(files) == 1:
        return files
    stems = {file.stem for file in files}
    finished = []
    for file in files:
        of_run, is_snapshot, _ = file.stem.partition(SNAPSHOT)
        if not is_snapshot or of_run not in stems:
            finished.append(file)
    return finished


Source = Path | Network


def _examine(
    outcomes: Sequence[Analyzed[Source] | Unusable[Source]],
) -> tuple[list[Specimen], list[InputError]]:
    """The networks with their analyses and training curves, and why others have none."""
    analyzed = [outcome for outcome in outcomes if isinstance(outcome, Analyzed)]
    problems = [outcome.problem for outcome in outcomes if isinstance(outcome, Unusable)]
    ids = list[str]()
    files = list[Path]()
    for item in analyzed:
        ids.append(item.analysis.id)
        files.append(item.source if isinstance(item.source, Path) else Path(item.analysis.id))
    named = zip(analyzed, names(ids, files), strict=True)
    return [_with_history(item, name) for item, name in named], problems


def _with_history(item: Analyzed[Source], name: str) -> Specimen:
    history = None
    notes = list[str]()
    try:
        if isinstance(item.source, Path):
            history = read_history(item.network, item.source)
    except InputError as error:
        notes = [f"Its training curves cannot be shown: {error}"]
    return Specimen(item.network, item.analysis, name=name, notes=notes, history=history)


def _shipped_population() -> Runs | None:
    gallery = default_gallery()
    if gallery is None or not (gallery / HOME).is_dir() or not is_sweep(gallery / HOME):
        return None
    return Runs.read(gallery / HOME)


def _contents(networks: int, sweeps: int) -> str:
    counts = [(networks, "network"), (sweeps, "sweep")]
    return " and ".join(counted(count, what) for count, what in counts if count)


def _title(about: list[str]) -> str:
    listed = ", ".join(about)
    if len(about) > 3:
        listed = f"{', '.join(about[:2])} and {len(about) - 2} more"
    return f"algophase report: {listed}"
