"""`reproduce`: the paper's items, as pictures and tables in a directory, and a page that a reader
can check line by line.
"""

import csv
import io
import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from algophase.core.errors import InputError
from algophase.pages.table import Table
from algophase.paper.items import find_items
from algophase.paper.product import Claim, Item, Product, overall
from algophase.paper.sources import Sources
from algophase.pictures.style import house_style
from algophase.reports.save_figure import save_figure
from algophase.storage.files import write_atomically

log = logging.getLogger(__name__)

FORMATS = ("png", "svg")
CLAIM_HEAD = ["claim", "published", "ours", "n", "verdict", "note"]


@dataclass(frozen=True)
class Made:
    """An item of the paper that was made, or why it was not.

    Attributes:
        item: the item.
        source: where its data come from.
        files: pictures and tables, in order.
        claims: published values next to ours.
        problem: why it was not made, or None.
    """

    item: Item
    source: str
    files: tuple[Path, ...]
    claims: tuple[Claim, ...]
    problem: str | None = None

    @property
    def verdict(self) -> str:
        return f"not made: {self.problem}" if self.problem else overall(self.claims)


def reproduce(
    *labels: str,
    out: str | Path = "paper",
    own: Sequence[str | Path] = (),
    released: str | Path | None = None,
    gallery: str | Path | None = None,
    progress: Callable[[Made], None] | None = None,
) -> list[Made]:
    """Make the paper's tables and figures, and compare its numbers with ours.

    Arguments:
        labels: items by the paper's own labels (`algophase paper` lists them), or "all".
        out: directory for pictures, tables and claims.csv.
        own: your sweeps, which are used before the gallery's.
        released: directory of the authors' released files, to take networks and runs from.
        gallery: our own sweeps and networks; by default the shipped ones.
        progress: called with each item after it is made.

    Returns:
        One entry per item: `verdict` says whether its claims hold, `claims` has the published
        values next to ours, `files` the pictures and tables, and `problem` says why an item could
        not be made.

    Raises:
        InputError: a label is unknown, or a directory cannot be read.

    Example:
        >>> from algophase import reproduce
        >>> (picture,) = reproduce("clock-pizza", out=directory)
        >>> picture.verdict, [file.name for file in picture.files]
        ('5 supported', ['clock-pizza.png', 'clock-pizza.svg'])
    """
    sources = Sources(
        None if gallery is None else Path(gallery),
        tuple(Path(path) for path in own),
        None if released is None else Path(released),
    )
    results = make(find_items(list(labels)), sources, Path(out), progress)
    for path, space in sources.unused.items():
        log.warning(
            "%s was not used: it holds space %s, and no item here asks for that one", path, space
        )
    return results


def make(
    items: Iterable[Item],
    sources: Sources,
    out: Path,
    progress: Callable[[Made], None] | None = None,
) -> list[Made]:
    """Make items in turn. One whose data is not there is reported, and the others are made."""
    results = []
    for item in items:
        try:
            with house_style():
                product = item.make(sources)
                files = _write(item, product, out)
            result = Made(item, product.source, files, product.claims)
        except InputError as error:
            result = Made(item, "", (), (), str(error))
        results.append(result)
        if progress is not None:
            progress(result)
    write_atomically(out / "claims.csv", claims_csv(results).encode())
    return results


def _write(item: Item, product: Product, out: Path) -> tuple[Path, ...]:
    files = []
    for name, figure in product.figures.items():
        stem = f"{item.label}-{name}" if name else item.label
        files += [save_figure(figure, out / f"{stem}.{kind}") for kind in FORMATS]
    for name, table in product.tables.items():
        stem = f"{item.label}-{name}" if name else item.label
        write_atomically(out / f"{stem}.md", f"{table.markdown()}\n".encode())
        files.append(out / f"{stem}.md")
    record = {
        "label": item.label,
        "place": item.place,
        "source": product.source,
        "claims": list(map(asdict, product.claims)),
    }
    write_atomically(out / f"{item.label}.json", (json.dumps(record, indent=1) + "\n").encode())
    return tuple(files)


def claims_csv(results: Iterable[Made]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["label", "claim", "published", "ours", "sample", "verdict", "note", "source"])
    for result in results:
        for claim in result.claims:
            numbers = (
                claim.text,
                claim.published,
                claim.ours,
                claim.sample,
                claim.verdict,
                claim.note,
            )
            writer.writerow([result.item.label, *numbers, result.source])
    return buffer.getvalue()


def page(results: list[Made], path: Path, command: str) -> str:
    """The results page, in Markdown; pictures are linked relative to where it lies."""
    counts: dict[str, int] = {}
    for result in results:
        for claim in result.claims:
            counts[claim.verdict] = counts.get(claim.verdict, 0) + 1
    missing = [result for result in results if result.problem]
    made = len(results) - len(missing)
    claims_by_verdict = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    lines = [
        "# The paper, item by item",
        "",
        f"Written by `{command}`; do not edit. Labels are the paper's own.",
        f"{made} of {len(results)} items were made.",
        f"Claims: {claims_by_verdict}.",
        "",
        '"Reproduced" means equal to the printed digits (to one unit of the last where the '
        'paper says "about"), on the very',
        "network the paper used,",
        "or, for a share of a population, no difference beyond the sampling error that the note "
        "gives.",
        "A number of another network than the paper's is shown beside the published one and "
        '"not tested".',
        'The rule behind "supported" stands in the note; "undecided" means too few runs to say.',
        "The note then says about how many would do, counted as n is, or why no further runs can.",
        "",
    ]
    for result in results:
        item = result.item
        verdict = f"{result.verdict[:1].upper()}{result.verdict[1:]}"
        lines += [f"## {item.label}: {item.title}", ""]
        lines += [f"{item.place}. {verdict}.", ""]
        if result.source:
            lines += [f"Data: {result.source}.", ""]
        if result.claims:
            claims = Table(CLAIM_HEAD, [_cells(claim) for claim in result.claims])
            lines += [claims.markdown(rule="---"), ""]
        for file in result.files:
            where = Path(os.path.relpath(file, path.parent)).as_posix()
            if file.suffix == ".png":
                lines += [f"![{item.title}]({where})", ""]
            elif file.suffix == ".md":
                lines += [file.read_text(encoding="utf-8")]
    return "\n".join(lines).rstrip() + "\n"


def _cells(claim: Claim) -> list[str]:
    """A row of the table of claims, under `CLAIM_HEAD`."""
    return [
        claim.text,
        claim.published,
        claim.ours,
        f"{claim.sample:,}",
        claim.verdict,
        claim.note,
    ]
