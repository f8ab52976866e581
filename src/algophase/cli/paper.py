"""`algophase paper`: every table, figure and printed number of the paper, by its own label."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli.output import check_writable, echo, typed
from algophase.core.errors import InputError
from algophase.core.progress import listening
from algophase.pages.table import text_line

if TYPE_CHECKING:
    from algophase.paper.make import Made

EXAMPLE = "algophase paper corlogit isolation onelayer --out paper/"


def paper(
    labels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL...|all]", help="Items by the paper's labels; without any, list them."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for pictures, tables and claims.csv.")
    ] = Path("paper"),
    own: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="DIR", help="Take populations from this sweep; repeat for several."
        ),
    ] = None,
    released: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Take networks and runs from the authors' released files in DIR."
        ),
    ] = None,
    gallery: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Our own sweeps and networks.", show_default="the one shipped"
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the results page (Markdown).")
    ] = None,
) -> None:
    """Make the paper's tables and figures, and print its numbers next to ours.

    An item without its data prints a one-line error and the others are still made; the exit code is
    then 1.
    """
    from algophase.paper.make import page as results_page
    from algophase.paper.make import reproduce
    from algophase.storage.files import write_atomically

    if not labels:
        if page is not None:
            raise InputError("--page needs items; give labels, or all")
        _list(own or [], released, gallery)
        return
    check_writable(out, page)
    with listening(lambda _level, text: echo(f"note: {text}", err=True)):
        results = reproduce(
            *labels, out=out, own=own or (), released=released, gallery=gallery, progress=_tell
        )
    if page is not None:
        write_atomically(page, results_page(results, page, typed()).encode())
        echo(f"the results page is {page}")
    kinds = {file.suffix for item in results for file in item.files}
    written = []
    if ".png" in kinds:
        written.append("pictures")
    if ".md" in kinds:
        written.append("tables")
    listed = "no picture or table was made; claims.csv is"
    if written:
        listed = f"{', '.join(written)} and claims.csv are"
    echo(f"{listed} in {out}")
    if any(item.problem for item in results):
        raise typer.Exit(1)


def _list(own: list[Path], released: Path | None, gallery: Path | None) -> None:
    """Every item, and whether it can be made from what there is."""
    from algophase.paper.items import ITEMS
    from algophase.paper.sources import Sources

    sources = Sources(gallery, tuple(own), released)
    items = list(ITEMS.values())
    label_width = max(len(item.label) for item in items)
    for item in items:
        lacking = sources.lacking(item.needs)
        needs = ", ".join(item.needs) or "nothing"
        what = f"{item.title} ({item.place})"
        echo(text_line([item.label, item.kind, what], [label_width, len("figure"), 0]))
        state = f"cannot be made: {'; '.join(lacking)}" if lacking else "can be made"
        echo(text_line(["", f"needs {needs}: {state}"], [label_width, 0]))
    echo("\nmake them with: algophase paper LABEL... (or all) --out DIR")


def _tell(result: "Made") -> None:
    echo(f"{result.item.label}: {result.verdict}")
    if result.source:
        echo(f"  data: {result.source}")
    for claim in result.claims:
        note = f" ({claim.note})" if claim.note else ""
        runs = f", n = {claim.sample:,}" if claim.sample > 1 else ""
        echo(
            f"  {claim.text}: published {claim.published}, ours {claim.ours}{runs}: "
            f"{claim.verdict}{note}"
        )
