"""Our populations beside the paper's printed shares and the authors' released runs."""

from dataclasses import replace
from typing import TYPE_CHECKING

from algophase.analysis.catalogue import BARE, IRRELEVANCE, SYMMETRICITY, WRONG_LOGIT, label
from algophase.core.lines import stays_within
from algophase.paper.product import Claim, Table, Verdict
from algophase.paper.published import number
from algophase.paper.rules import apart, points
from algophase.paper.sources import Sources
from algophase.runs.boundary import Boundary, Estimate, difference
from algophase.runs.comparison import Comparison, compare
from algophase.runs.findings import measure_name
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

PRECISE = 0.1  # a share is told apart from the published one at this distance
# Runs behind each printed share of circular networks: the released table's counts give the printed
# digits with these totals.
SHARES = {
    "fixed-width": ("share-circular-1-layer", 2381),
    "layers-2": ("share-circular-2-layers", 844),
    "layers-3": ("share-circular-3-layers", 805),
    "layers-4": ("share-circular-4-layers", 822),
}
LAYERS = {space: layers for layers, space in enumerate(SHARES, start=1)}
VARIANTS = {
    "separate-vocabularies": (True, False),
    "equals-sign": (False, True),
}  # separate vocabularies, equals sign


def published_share(space: str) -> Share:
    """A printed share as the counts behind it."""
    name, total = SHARES[space]
    return Share(round(number(name).value * total), total)


def printed_share(share: Share, space: str, also: str = "") -> Claim:
    """Our share beside a printed one, which is of finitely many runs too: reproduced if no
    difference is seen, and a difference of more than `PRECISE` would have been."""
    published, theirs = number(SHARES[space][0]), published_share(space)
    apart_by = apart(share, theirs)
    if apart_by is None or apart_by.interval is None:
        note = f"there is no run of {space} with a circularity"
        return Claim(published.text, published.printed, str(share), "not tested", 0, note)
    where = "inside" if share.interval[0] <= published.value <= share.interval[1] else "outside"
    note = (
        "rule: the 95% interval of the difference from the published share, itself of "
        f"{theirs.total:,} runs, holds 0, and "
        f"nothing beyond {100 * PRECISE:g} points (undecided: it holds both): "
        f"{points(apart_by)} (taken as exact, it lies {where} our interval); of all trained "
        f"networks, accurate or not{also}"
    )
    verdict: Verdict = "differs"
    if apart_by.holds(0.0):
        verdict = (
            "reproduced" if stays_within(max(map(abs, apart_by.interval)), PRECISE) else "undecided"
        )
    return Claim(published.text, published.printed, str(share), verdict, share.total, note)


def share_claims(sources: Sources, space: str, ours: Runs | None) -> list[Claim]:
    """The printed share of circular networks: beside ours, and from the authors' own runs where
    they are there.

    From theirs it comes to its printed digits, so that the denominator is the right one.
    """
    also = "" if ours is None else f"; of the accurate {ours.circular_share_of_accurate}"
    claims = [printed_share(Share(0, 0) if ours is None else ours.circular_share, space, also)]
    theirs = released_population(sources, space)
    if theirs is not None:
        share = theirs.circular_share
        note = (
            f"{share.count:,} of {share.total:,} released runs with a circularity, accurate or not"
        )
        claim = number(SHARES[space][0]).claim(
            share.value, f"{share.value:.2%}", sample=share.total, note=note
        )
        claims.append(replace(claim, text=f"{claim.text}, in the authors' released table"))
    return claims


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
    sides = [
        _released(released, 1, flags).accurate.boundary(name)
        for flags, name in ((VARIANTS[space], own), ((False, False), theirs))
    ]
    return shift(*sides), label(own), sides[0].runs


def beside(
    sources: Sources, ours: "pandas.DataFrame"
) -> tuple[dict[str, "Figure"], dict[str, Table], str]:
    """The picture and the table of our runs beside the released runs of the same settings, and what
    they are.

    Like is compared with like: the released table's distance irrelevance is that of the largest
    wrong logit.
    """
    from algophase.reports.comparison import comparison_figure

    released = sources.released_runs
    if released is None:
        return {}, {}, ""
    comparison = compare(ours, released.frame, ("ours", "released"), same_settings=True)
    told = (
        f"; beside it {released.source}, of which {len(comparison.sides[1]):,} have these settings"
    )
    return (
        {"released": comparison_figure(comparison)},
        {"released": comparison_table(comparison)},
        told,
    )


def comparison_table(comparison: Comparison) -> Table:
    rows = []
    for share in comparison.shares:
        what = f"{measure_name(share.measure)}, of {share.among}" + (
            f", {share.group}" if share.group else ""
        )
        rows.append((what, str(share.shares[0]), str(share.shares[1])))
    for row in comparison.boundaries:
        sides = ["-" if side is None else str(side) for side in row.sides]
        rows.append(
            (
                f"boundary of {row.phase}" + (f", {row.group}" if row.group else ""),
                sides[0],
                sides[1],
            )
        )
    count, rejected = len(comparison.findings), len(comparison.rejected)
    verdict = "no difference found" if not rejected else f"different in {rejected}"
    rows.append(
        (
            f"{count} tests at a family-wise level of {comparison.level:g} (algophase compare)",
            verdict,
            "",
        )
    )
    return Table(("measure", "ours", "released"), tuple(rows))
