"""What the paper illustrates: the two algorithms, the accompanying Pizza, table 1, and |cos t| -
|sin t| ~ cos 2t.

Everything here is measured on the formulas or on networks made by hand, so it needs no data; table
1 takes trained networks where there are some.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.circles.formulas import (
    accompanying_by_distance,
    accompanying_logits,
    antipodal_pairs,
    clock_logits,
    failures,
    gap,
    pizza_by_distance,
    pizza_logits,
)
from algophase.analysis.logits.all_pairs import correct_logits, grid_logits
from algophase.analysis.specimen import Specimen
from algophase.core.fourier import circle, cos_turn, folded, sin_turn
from algophase.core.lines import exceeds, reaches
from algophase.core.task import labels
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.paper.illustrations import draw_accompanying, draw_algorithms, draw_approximation
from algophase.paper.product import Claim, Product, Table
from algophase.paper.rules import THRESHOLDS, approximated, judged, statement
from algophase.paper.sources import Missing, Sources, optional

FACE = 12  # the paper's everyday clock
PAIR = (8, 6)  # its first example: 8 + 6 = 2 (mod 12)
ILLUSTRATED = 13, 1, 7  # an odd modulus, and a pair that is nearly antipodal at frequency 1
PRIME = 59
EXACT = 1e-12
FORMULAS = "the paper's formulas"


def algorithms(_: Sources) -> Product:
    """Figure 1."""
    p = FACE
    numbers, pairs = torch.arange(p), p * p
    sums = labels(p)
    lines = torch.stack(
        [cos_turn(numbers, 2 * p), sin_turn(numbers, 2 * p)], dim=-1
    )  # (c, 2), along each label's line
    middle = _midpoints(p, 1)
    across = torch.stack([-lines[:, 1], lines[:, 0]], dim=-1)
    distances = (middle @ across.T).abs()  # (a, b, c)
    own = distances.gather(2, sums[..., None])[..., 0]
    antipodal = antipodal_pairs(p, 1)
    off_centre = middle.norm(dim=2) > EXACT
    nearest = distances.argmin(dim=2) == sums
    collapsed = set(sums[antipodal[:, 0], antipodal[:, 1]].tolist())
    logits = clock_logits(p, 1), pizza_logits(p, 1)
    clock, pizza = map(failures, logits)
    spreads = [(correct.max() - correct.min()).item() for correct in map(correct_logits, logits)]
    claims = (
        statement(
            "the midpoints of all pairs with one sum c lie on a line through the origin",
            own.max().item() <= EXACT,
            f"{int((own <= EXACT).sum())} of {pairs} do",
            "p = 12; rule: to 1e-12, the line at angle w c / 2",
        ),
        statement(
            "what is nearer to a label's line than to any other's forms two of 2p mirrored slices",
            bool((nearest | ~off_centre).all()),
            f"{int((nearest & off_centre).sum())} of {int(off_centre.sum())} midpoints in their "
            "label's slice",
            "p = 12; rule: every midpoint that is not at the origin is in a slice of its own label",
        ),
        statement(
            "antipodal pairs, (1, 7), (2, 8), (3, 9) and so on, have their midpoints at the "
            "origin, and different labels",
            bool((middle[antipodal[:, 0], antipodal[:, 1]].norm(dim=1) <= EXACT).all())
            and len(collapsed) > 1,
            f"{len(antipodal) // 2} pairs with {len(collapsed)} labels",
            "p = 12; rule: all of them to 1e-12, more than one label",
        ),
        statement(
            "the Pizza cannot classify antipodal pairs; the Clock can",
            len(clock) == 0 and pizza.tolist() == antipodal.tolist(),
            f"wrong or tied: Clock {len(clock)}, Pizza {len(pizza)} of {pairs} pairs",
            "p = 12, k = 1; rule: the Pizza's failures are the antipodal pairs, the Clock has none",
        ),
        statement(
            "given c = a + b, the Pizza's logit depends on a - b and the Clock's does not",
            spreads[0] <= EXACT < spreads[1],
            f"correct logits range over {spreads[0]:.3f} (Clock), {spreads[1]:.3f} (Pizza)",
            "p = 12, k = 1; rule: to 1e-12",
        ),
    )
    return Product(FORMULAS, {"": draw_algorithms(p, *PAIR)}, claims=claims)


def _midpoints(modulus: int, frequency: int) -> Tensor:
    points = circle(modulus, frequency)
    return (points[:, None] + points) / 2  # (a, b, 2)


def accompanying(_: Sources) -> Product:
    """The accompanying Pizza (appendix D)."""
    p, distance = PRIME, torch.arange(PRIME)
    adjacent, doubled, best = [], [], []  # at each frequency
    for k in range(1, p // 2 + 1):
        length, complement = (
            pizza_by_distance(distance, p, k),
            accompanying_by_distance(distance, p, k),
        )
        far = length <= length.min() + EXACT  # the most antipodal distances
        steps = folded(2 * k * distance[far].numpy(), p)
        adjacent.append(bool((steps == 1).all()))
        best.append(bool((far == (complement >= complement.max() - EXACT)).all()))
        first, second = gap(p, k), gap(p, 2 * k)
        assert first is not None  # p is prime
        assert second is not None
        doubled.append(folded(first, p) == folded(2 * second, p))
    claims = [
        statement(
            text,
            all(held),
            f"{sum(held)} of {len(held)} frequencies",
            f"p = {p}; rule: at every frequency k, {rule}",
        )
        for text, held, rule in (
            (
                "pairs nearly antipodal on a Pizza's circle are adjacent on the accompanying "
                "circle",
                adjacent,
                "the pairs farthest apart are one step apart at 2k",
            ),
            (
                "gaps of accompanied and accompanying Pizza: delta_1 = 2 delta_2 (mod p)",
                doubled,
                "up to the direction of a gap",
            ),
            (
                "the accompanying Pizza works best for formerly antipodal points",
                best,
                "-cos w(a - b) is largest exactly where |cos w(a - b)/2| is smallest",
            ),
        )
    ]
    # The algorithm of appendix D, step by step, against its closed form.
    by_steps = -_midpoints(p, 2 * 17) @ circle(p, 17).T
    equal = (by_steps - accompanying_logits(p, 17)).abs().max().item() <= EXACT
    plain, with_them = (
        len(failures(grid_logits(handmade_pizza(FACE, (1, 5), accompanied=some))))
        for some in (False, True)
    )
    claims += [
        statement(
            "A_c, computed by its three steps, is -cos w(a - b) cos w(a + b - c)",
            equal,
            "equal" if equal else "not equal",
            "p = 59, k = 17; rule: to 1e-12",
        ),
        statement(
            "accompanying Pizzas make up for antipodal pairs",
            plain > 0 and with_them == 0,
            f"hand-made Pizzas answer {plain} of {FACE**2} pairs wrong without them, "
            f"{with_them} with them",
            "p = 12, k = 1 and 5; rule: some wrong or tied without, none with",
        ),
    ]
    return Product(FORMULAS, {"": draw_accompanying(*ILLUSTRATED)}, claims=tuple(claims))


def approximation(_: Sources) -> Product:
    """|cos t| - |sin t| is about cos 2t (appendix A)."""
    angles = torch.arange(100_000, dtype=torch.float64) * (2 * torch.pi / 100_000)
    difference, wave = angles.cos().abs() - angles.sin().abs(), (2 * angles).cos()
    spread = difference.var(correction=0)
    explained, flipped = (
        1 - ((sign * difference - wave).square().mean() / spread).item() for sign in (1, -1)
    )
    amplitude = 2 * (difference * wave).mean().item()
    fitted = amplitude**2 / 2 / spread.item()
    deviation = (difference - wave).abs().max().item()
    claims = (
        approximated(
            "|cos t| - |sin t| is about cos 2t for any t",
            explained,
            f"{explained:.2%} of its variance, largest deviation {deviation:.4f}",
            f"; {fitted:.2%} by the best multiple, {amplitude:.4f} cos 2t",
            published="≈",
        ),
        Claim(
            "|sin t| - |cos t| is about cos 2t (appendix L.2)",
            "≈",
            f"{flipped:.0%} of its variance",
            "paper contradicts itself",
            note="appendix A has the signs the other way round, and is right; this is about "
            "-cos 2t",
        ),
    )
    return Product(FORMULAS, {"": draw_approximation()}, claims=claims)


# --- table 1
# ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A network's row of table 1. degree: of its logits in the embeddings, None where not
    measured; even: in them.
    """

    what: str
    specimen: Specimen
    degree: float | None = None
    even: bool = False

    @property
    def circular(self) -> bool:
        return bool(reaches(self.specimen.analysis.circularity, THRESHOLDS.circularity))

    @property
    def shape(self) -> str:
        return (
            f"{'Circle' if self.circular else 'not a circle'} "
            f"({self.specimen.analysis.circularity:.4f})"
        )

    @property
    def symmetric(self) -> str:
        return (
            "Yes"
            if exceeds(
                self.specimen.analysis.gradient_symmetricity, THRESHOLDS.gradient_symmetricity
            )
            else "No"
        )

    @property
    def symmetry(self) -> str:
        return f"{self.symmetric} ({self.specimen.analysis.gradient_symmetricity:.4f})"

    @property
    def operation(self) -> str:
        """Even logits of degree two are products; of degree one, absolute values."""
        if self.degree is None or not self.even:
            return "-"
        return {1: "Absolute value", 2: "Multiplication"}.get(round(self.degree), "-")

    def cells(self) -> tuple[str, ...]:
        degree = "-" if self.degree is None else f"{self.operation} (degree {self.degree:.2f})"
        return self.what, self.shape, self.symmetry, degree


def _by_hand(specimen: Specimen) -> _Row:
    logits, network = specimen.logits, specimen.network
    first, second = network.operand_tables()
    twice, negated = (
        grid_logits(network, (factor * first, factor * second)) for factor in (2.0, -1.0)
    )
    even = (negated - logits).abs().max().item() <= EXACT * logits.abs().max().item()
    return _Row(
        "made by hand", specimen, math.log2(twice.norm().item() / logits.norm().item()), even
    )


def table_1(sources: Sources) -> Product:
    by_hand, trained, claims, used = [], [], [], ["networks made by hand"]
    for algorithm, handmade, role, symmetric, operation in (
        ("Clock", handmade_clock, "model-b", "No", "Multiplication"),
        ("Pizza", handmade_pizza, "model-a", "Yes", "Absolute value"),
    ):
        rows = [_by_hand(Specimen(handmade(PRIME)))]
        by_hand.append((algorithm, *rows[0].cells()))
        found = optional(sources.network, role)
        if found is not None:
            used.append(found.source)
            rows.append(_Row(found.source, found))
            trained.append((algorithm, *rows[1].cells()))
        claims += _row_claims(algorithm, rows, symmetric, operation)
    cells, claim, source = _not_circular(sources)
    columns = (
        "Algorithm",
        "Measured on",
        "Learned Embeddings (circularity)",
        "Gradient Symmetry (symmetricity)",
    )
    table = Table((*columns, "Required Non-linearity"), (*by_hand, *trained, *cells))
    return Product("; ".join(used + source), tables={"": table}, claims=(*claims, claim))


def _row_claims(algorithm: str, rows: list[_Row], symmetric: str, operation: str) -> list[Claim]:
    rule, count = f"all of {len(rows)} networks, made by hand and trained", len(rows)
    return [
        judged(
            f"{algorithm}: learned embeddings",
            all(row.circular for row in rows),
            ", ".join(row.shape for row in rows),
            f"{rule}, circularity >= {THRESHOLDS.circularity}",
            published="Circle",
            sample=count,
        ),
        judged(
            f"{algorithm}: gradient symmetry",
            all(row.symmetric == symmetric for row in rows),
            ", ".join(row.symmetry for row in rows),
            f"{rule}; symmetric is above {THRESHOLDS.gradient_symmetricity}, on the paper's 100 "
            "triples",
            published=symmetric,
            sample=count,
        ),
        statement(
            f"{algorithm}: required non-linearity",
            rows[0].operation == operation,
            f"{rows[0].operation}, degree {rows[0].degree:.2f}",
            "rule, on the hand-made one: logits even in the embeddings, of degree 2 (products) "
            "or 1 (absolute values)",
            published=operation,
        ),
    ]


def _not_circular(sources: Sources) -> tuple[list[tuple[str, ...]], Claim, list[str]]:
    """The table's last row, on the first non-circular network there is."""
    text, published, problem = (
        "Non-circular: learned embeddings",
        "Line, Lissajous-like curves, etc.",
        "",
    )
    for role in ("line-like", "three-dimensional"):
        try:
            found = sources.network(role)
        except Missing as error:
            problem = problem or str(error)
            continue
        verdict = found.analysis.paper
        ours = f"{verdict.shape or 'circle'} (circularity {found.analysis.circularity:.4f})"
        claim = judged(
            text,
            verdict.label == "non-circular"
            and verdict.shape in ("line-like", "several frequencies"),
            ours,
            f"all pairs right, circularity < {THRESHOLDS.circularity}, and the first components "
            "are a line or mix "
            "frequencies, as Lissajous curves do; how often each occurs: noncirc",
            published=published,
        )
        return [("Non-circular", found.source, ours, "N/A", "N/A")], claim, [found.source]
    return [], Claim(text, published, "-", "not tested", 0, problem), []
