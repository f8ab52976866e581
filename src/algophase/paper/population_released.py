"""The authors' released runs beside ours, like with like: their distance irrelevance is that of the largest wrong logit."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from algophase.paper.population_claims import SHARES, Population
from algophase.paper.product import Claim, Table
from algophase.paper.published import number
from algophase.paper.sources import Sources
from algophase.report.comparison import comparison_figure
from algophase.runs.boundary import Estimate, difference
from algophase.runs.comparison import (
    BARE,
    IRRELEVANCE,
    NAMES,
    SYMMETRICITY,
    WRONG_LOGIT,
    Comparison,
    compare,
    metric_boundary,
)
from algophase.runs.matching import accurate, finished

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

VARIANTS = {"separate-vocabularies": (True, False), "equals-sign": (False, True)}
LAYERS = {"fixed-width": 1, "layers-2": 2, "layers-3": 3, "layers-4": 4}


def released_population(sources: Sources, space: str) -> Population | None:
    """The released runs of one depth, of the main experiments; None without --released."""
    found = sources.released_runs()
    if found is None:
        return None
    table = found.runs
    plain = table[(table["layers"] == LAYERS[space]) & ~table["separate_vocabularies"] & ~table["equals_sign"]]
    return Population(space, found.source, finished(plain, found.source).runs)


def released_share(sources: Sources, space: str) -> list[Claim]:
    """The printed share from the authors' own runs: to its printed digits, so that the denominator is the right one."""
    theirs = released_population(sources, space)
    if theirs is None:
        return []
    name, share = number(SHARES[space][0]), theirs.circular_share
    note = f"{share.count:,} of {share.total:,} released runs with a circularity, accurate or not"
    claim = name.claim(share.value, f"{share.value:.2%}", sample=share.total, note=note)
    return [replace(claim, text=f"{claim.text}, in the authors' released table")]


@dataclass(frozen=True)
class Shift:
    """How far a phase's end lies from the main experiment's in the authors' runs. what: by what their table has."""

    moved: Estimate | None
    what: str
    runs: int


def released_shift(sources: Sources, space: str, measure: str) -> Shift | None:
    """Where the phase ends in the authors' runs of a variant, less the same of their main experiment; None without them."""
    found = sources.released_runs()
    if found is None or space not in VARIANTS:
        return None
    one_layer = found.runs[found.runs["layers"] == 1]
    measures = [WRONG_LOGIT if measure == IRRELEVANCE else measure] * 2
    if measure == SYMMETRICITY and VARIANTS[space][1]:
        measures[0] = BARE  # what their table has where there is an equals sign
    sides = []
    for (separate, equals), name in zip((VARIANTS[space], (False, False)), measures, strict=True):
        some = one_layer[(one_layer["separate_vocabularies"] == separate) & (one_layer["equals_sign"] == equals)]
        sides.append(metric_boundary(accurate(finished(some, found.source).runs), name))
    moved = difference(sides[0], sides[1]) if all(side.within for side in sides) else None
    return Shift(moved, NAMES[measures[0]], sides[0].runs)


def beside(sources: Sources, ours: "pandas.DataFrame") -> tuple[dict[str, "Figure"], dict[str, Table], str]:
    """The picture and the table of our runs beside the released runs of the same settings, and what they are."""
    found = sources.released_runs()
    if found is None:
        return {}, {}, ""
    comparison = compare(ours, found.runs, ("ours", "released"), same_settings=True)
    told = f"; beside it {found.source}, of which {len(comparison.sides[1].runs):,} have these settings"
    return {"released": comparison_figure(comparison)}, {"released": comparison_table(comparison)}, told


def comparison_table(comparison: Comparison) -> Table:
    rows = []
    for share in comparison.shares:
        what = f"{NAMES[share.measure]}, of {share.among}" + (f", {share.group}" if share.group else "")
        rows.append((what, str(share.shares[0]), str(share.shares[1])))
    for row in comparison.boundaries:
        sides = ["-" if side is None else str(side) for side in row.sides]
        rows.append((f"boundary of {row.phase}" + (f", {row.group}" if row.group else ""), sides[0], sides[1]))
    count, rejected = len(comparison.findings), len(comparison.rejected)
    verdict = "no difference found" if not rejected else f"different in {rejected}"
    rows.append((f"{count} tests at a family-wise level of {comparison.level:g} (algophase compare)", verdict, ""))
    return Table(("measure", "ours", "released"), tuple(rows))
