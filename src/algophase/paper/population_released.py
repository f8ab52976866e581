"""Our populations beside the paper's printed shares and the authors' released runs."""

from typing import TYPE_CHECKING

from algophase.analysis.catalogue import BARE, IRRELEVANCE, SYMMETRICITY, WRONG_LOGIT, label
from algophase.paper.product import Table
from algophase.paper.sources import Sources
from algophase.runs.boundary import Boundary, Estimate, difference
from algophase.runs.comparison import Comparison, compare
from algophase.runs.findings import measure_name
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    from algophase.pictures.marks import Figure

MAIN_BY_DEPTH = ("fixed-width", "layers-2", "layers-3", "layers-4")
LAYERS = {space: layers for layers, space in enumerate(MAIN_BY_DEPTH, start=1)}
VARIANTS = {
    "separate-vocabularies": (True, False),
    "equals-sign": (False, True),
}  # separate vocabularies, equals sign


def released_population(sources: Sources, space: str) -> Runs | None:
    """The released runs of one depth, of the main experiments; None without --released."""
    released = sources.released_runs
    return None if released is None else _released(released, LAYERS[space], (False, False))


def _released(released: Runs, layers: int, flags: tuple[bool, bool]) -> Runs:
    same = (released["separate_vocabularies"] == flags[0]) & (released["equals_sign"] == flags[1])
    return released.where(same & (released["layers"] == layers))


def shift(one: Boundary, main: Boundary) -> Estimate | None:
    """Where a phase ends less where it ends in the main experiment; None unless both have a
    boundary among the rates.
    """
    return difference(one, main) if one.within and main.within else None


def released_shift(
    sources: Sources, space: str, measure: str
) -> tuple[Estimate | None, str, int] | None:
    """Where the phase ends in the authors' runs of a variant less where it ends in their main
    experiment; by what; of how many.

    None without --released.
    """
    released = sources.released_runs
    if released is None or space not in VARIANTS:
        return None
    # Their irrelevance is the largest wrong logit's, and where there is an equals sign their
    # symmetricity leaves it out.
    theirs = WRONG_LOGIT if measure == IRRELEVANCE else measure
    own = BARE if measure == SYMMETRICITY and VARIANTS[space][1] else theirs
    with_variant = _released(released, 1, VARIANTS[space]).accurate.boundary(own)
    without = _released(released, 1, (False, False)).accurate.boundary(theirs)
    return shift(with_variant, without), label(own), with_variant.runs


def beside(sources: Sources, ours: Runs) -> tuple[dict[str, "Figure"], dict[str, Table], str]:
    """The picture and the table of our runs beside the released runs of the same settings, and what
    they are.

    Like is compared with like: the released table's distance irrelevance is that of the largest
    wrong logit.
    """
    from algophase.reports.comparison import comparison_figure

    released = sources.released_runs
    if released is None:
        return {}, {}, ""
    comparison = compare(ours, released, ("ours", "released"), same_settings=True)
    count = f"{len(comparison.sides[1]):,}"
    beside_it = f"; beside it {released.source}, of which {count} have these settings"
    return (
        {"released": comparison_figure(comparison)},
        {"released": comparison_table(comparison)},
        beside_it,
    )


def comparison_table(comparison: Comparison) -> Table:
    rows = []
    for share in comparison.shares:
        what = f"{measure_name(share.measure)}, of {share.among}"
        if share.group:
            what += f", {share.group}"
        rows.append((what, str(share.shares[0]), str(share.shares[1])))
    for row in comparison.boundaries:
        what = f"boundary of {row.phase}"
        if row.group:
            what += f", {row.group}"
        ours, theirs = ["-" if side is None else str(side) for side in row.sides]
        rows.append((what, ours, theirs))
    count = len(comparison.findings)
    rejected = len(comparison.rejected)
    verdict = "no difference found" if not rejected else f"different in {rejected}"
    tests = f"{count} tests at a family-wise level of {comparison.level:g} (algophase compare)"
    rows.append((tests, verdict, ""))
    return Table(("measure", "ours", "released"), tuple(rows))
