"""`algophase report`: networks and sweeps as one page that opens without a network connection."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli_output import complain, distinct, names
from algophase.errors import InputError
from algophase.wording import plural

if TYPE_CHECKING:
    from algophase.report.network_section import Examined
    from algophase.runs.runs import Population

EXAMPLE = "Example:  algophase report networks/ gallery/fixed-width -o report.html"
HOME = "fixed-width"  # of the gallery: the population a plain one-layer network of the published width comes from


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Networks (NAME.safetensors, model_<id>.pt, or directories of them) and sweeps (directories, Parquet files).",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path("report.html"),
    population: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Set networks among the runs of this sweep.",
            show_default="the gallery's fixed-width, for networks of its kind",
        ),
    ] = None,
    released: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Compare sweeps with the authors' released table of runs.")
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The page's title.", show_default="what it is about")
    ] = None,
    min_accuracy: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Accuracy below which a network counts as not learned; the paper asks for 1."),
    ] = 1.0,
) -> None:
    """Write one HTML page about networks and sweeps: verdicts with their evidence, phase diagrams, comparisons.

    What cannot be read is reported and the rest is still written; the exit code is then 1.
    """
    from algophase.report.network_section import add_index, add_network, add_population
    from algophase.report.page import Page, paragraph
    from algophase.report.sweep_section import add_sweep, read_sweep
    from algophase.runs.released_table import read_released_table
    from algophase.runs.runs import foreign_settings, is_sweep, read_population

    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the page is {out}; give a name that ends in .html")
    page = Page("algophase report")
    theirs = None if released is None else read_released_table(released)
    home = None if population is None else read_population(population)
    problems: list[InputError] = []
    sweeps, files = [], list[Path]()
    for path in distinct(paths):
        try:
            if is_sweep(path):
                sweeps.append(read_sweep(path))
            else:
                files += _networks(path)
        except InputError as error:
            problems.append(error)
    examined = _examine(distinct(files), min_accuracy, problems)
    for problem in problems:
        complain(problem)
    if not examined and not sweeps:
        raise InputError("nothing to report on: no network and no sweep could be read")
    if theirs is not None and not sweeps:
        raise InputError("--released compares sweeps; give a sweep's directory as well")
    asked = home is not None
    if home is None and examined:
        home = _shipped_population()
    fits = [home is not None and (asked or not foreign_settings(item.network, home)) for item in examined]
    told = _told(len(examined), len(sweeps))
    page.title = title or _title(examined, [sweep.title for sweep in sweeps])
    page.lead = (
        f"{told}: which algorithm each learned, and the evidence." if examined else f"{told}: which algorithms were learned."
    )
    if len(examined) > 1:
        add_index(page, examined)
    if home is not None and any(fits):
        add_population(page, home, examined, fits)
    elif examined:
        page.add(paragraph("No population of runs like these was found; --population DIR sets them among a sweep's.", "note"))
    for number, item in enumerate(examined, 1):
        add_network(page, number, item, home if fits[number - 1] else None, len(examined))
    for number, sweep in enumerate(sweeps, 1):
        add_sweep(page, sweep, theirs, f"sweep-{number}")
    size = page.write(out)
    typer.echo(f"report: {out} ({told}, {size / 1e6:.1f} MB)")
    if problems:
        raise typer.Exit(1)


def _networks(path: Path) -> list[Path]:
    """Network files; of a directory without the snapshots of the networks in it."""
    from algophase.storage import find_networks
    from algophase.storage.sweep_directory import SNAPSHOT

    found = find_networks(path)
    ends = {file.stem for file in found}
    return [file for file in found if len(found) == 1 or file.stem.partition(SNAPSHOT)[0] not in ends - {file.stem}]


def _examine(files: list[Path], min_accuracy: float, problems: list[InputError]) -> list["Examined"]:
    """Analyse the networks, with a bar for more than one."""
    from rich.console import Console
    from rich.progress import Progress

    from algophase.analysis.analyze import analyze
    from algophase.analysis.verdict import Thresholds
    from algophase.report.network_section import Examined, read_history
    from algophase.storage import load

    examined, read = list[Examined](), list[Path]()
    with Progress(console=Console(stderr=True), transient=True, disable=len(files) < 2) as progress:
        bar = progress.add_task("analysing", total=len(files))
        for file in files:
            progress.update(bar, description=f"analysing {file.name}".replace("[", r"\["))
            try:
                network = load(file)
                analysis = analyze(network, Thresholds(accuracy=min_accuracy))
            except InputError as error:
                problems.append(error)
            else:
                read.append(file)
                try:
                    examined.append(Examined(network, analysis, read_history(network, file)))
                except InputError as error:
                    examined.append(Examined(network, analysis, notes=(f"Its training curves cannot be shown: {error}",)))
            progress.advance(bar)
    called = names([item.analysis.id for item in examined], read)
    return [replace(item, name=name) for item, name in zip(examined, called, strict=True)]


def _shipped_population() -> "Population | None":
    from algophase.paper.sources import default_gallery
    from algophase.runs.runs import is_sweep, read_population

    gallery = default_gallery()
    if gallery is None or not (gallery / HOME).is_dir() or not is_sweep(gallery / HOME):
        return None
    return read_population(gallery / HOME)


def _told(networks: int, sweeps: int) -> str:
    counted = [(networks, "network"), (sweeps, "sweep")]
    return " and ".join(f"{count} {plural(count, what)}" for count, what in counted if count)


def _title(examined: list["Examined"], sweeps: list[str]) -> str:
    about = [*(item.title for item in examined), *sweeps]
    return "algophase report: " + (", ".join(about) if len(about) <= 3 else f"{', '.join(about[:2])} and {len(about) - 2} more")
