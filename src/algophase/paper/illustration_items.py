"""What the paper illustrates: the two algorithms, the accompanying Pizza, table 1, and |cos t| - |sin t| ~ cos 2t.

Everything here is measured on the formulas or on networks made by hand, so it needs no data; table 1 takes trained networks
where there are some.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.formulas import (
    accompanying_by_distance,
    accompanying_logits,
    antipodal_pairs,
    clock_logits,
    failures,
    gap,
    pizza_by_distance,
    pizza_logits,
)
from algophase.analysis.grid import correct_logits, grid_logits
from algophase.analysis.metrics import circularity, gradient_symmetricity
from algophase.analysis.principal import network_components
from algophase.analysis.verdict import Thresholds
from algophase.networks import Network
from algophase.networks.handmade import circle, handmade_clock, handmade_pizza
from algophase.paper.illustrations import draw_accompanying, draw_algorithms, draw_approximation
from algophase.paper.product import Claim, Item, Product, Table
from algophase.paper.rules import APPROXIMATES, APPROXIMATION_RULE, statement
from algophase.paper.sources import Missing, Sources
from algophase.waves import cos_turn, sin_turn

FACE = 12  # the paper's everyday clock
PAIR = (8, 6)  # its first example: 8 + 6 = 2 (mod 12)
ILLUSTRATED = 13, 1, 7  # an odd modulus, and a pair that is nearly antipodal at frequency 1
PRIME = 59
EXACT = 1e-12
FORMULAS = "the paper's formulas"
THRESHOLDS = Thresholds()


# --- figure 1 ---------------------------------------------------------------------------------------------------------


def _midpoints(modulus: int) -> Tensor:
    points = circle(modulus, 1)
    return (points[:, None] + points) / 2  # (a, b, 2)


def _make_algorithms(_: Sources) -> Product:
    p = FACE
    numbers = torch.arange(p)
    labels = (numbers[:, None] + numbers) % p
    lines = torch.stack([cos_turn(numbers, 2 * p), sin_turn(numbers, 2 * p)], dim=-1)  # (c, 2), along each label's line
    middle = _midpoints(p)
    across = torch.stack([-lines[:, 1], lines[:, 0]], dim=-1)
    distances = (middle @ across.T).abs()  # (a, b, c)
    own = distances.gather(2, labels[..., None])[..., 0]
    antipodal = antipodal_pairs(p, 1)
    off_centre = middle.norm(dim=2) > EXACT
    nearest = distances.argmin(dim=2) == labels
    collapsed = {int((a + b) % p) for a, b in antipodal.tolist()}
    clock, pizza = failures(clock_logits(p, 1)), failures(pizza_logits(p, 1))
    spreads = [_spread(logits) for logits in (clock_logits(p, 1), pizza_logits(p, 1))]
    pairs = p * p
    claims = (
        statement(
            "the midpoints of all pairs with one sum c lie on a line through the origin",
            f"{int((own <= EXACT).sum())} of {pairs} do",
            own.max().item() <= EXACT,
            "p = 12; rule: to 1e-12, the line at angle w c / 2",
        ),
        statement(
            "what is nearer to a label's line than to any other's forms two of 2p mirrored slices",
            f"{int((nearest & off_centre).sum())} of {int(off_centre.sum())} midpoints in their label's slice",
            bool((nearest | ~off_centre).all()),
            "p = 12; rule: every midpoint that is not at the origin is in a slice of its own label",
        ),
        statement(
            "antipodal pairs, (1, 7), (2, 8), (3, 9) and so on, have their midpoints at the origin, and different labels",
            f"{len(antipodal) // 2} pairs with {len(collapsed)} labels",
            bool((middle[antipodal[:, 0], antipodal[:, 1]].norm(dim=1) <= EXACT).all()) and len(collapsed) > 1,
            "p = 12; rule: all of them to 1e-12, more than one label",
        ),
        statement(
            "the Pizza cannot classify antipodal pairs; the Clock can",
            f"wrong or tied: Clock {len(clock)}, Pizza {len(pizza)} of {pairs} pairs",
            len(clock) == 0 and pizza.tolist() == antipodal.tolist(),
            "p = 12, k = 1; rule: the Pizza's failures are the antipodal pairs, the Clock has none",
        ),
        statement(
            "given c = a + b, the Pizza's logit depends on a - b and the Clock's does not",
            f"correct logits range over {spreads[0]:.3f} (Clock), {spreads[1]:.3f} (Pizza)",
            spreads[0] <= EXACT < spreads[1],
            "p = 12, k = 1; rule: to 1e-12",
        ),
    )
    return Product(FORMULAS, {"": draw_algorithms(p, *PAIR)}, claims=claims)


def _spread(logits: Tensor) -> float:
    correct = correct_logits(logits)
    return (correct.max() - correct.min()).item()


# --- the accompanying Pizza -------------------------------------------------------------------------------------------


def _make_accompanying(_: Sources) -> Product:
    p, distance = PRIME, torch.arange(PRIME)
    frequencies = range(1, p // 2 + 1)
    adjacent, best, doubled = 0, 0, 0
    for k in frequencies:
        length, complement = pizza_by_distance(distance, p, k), accompanying_by_distance(distance, p, k)
        far = length <= length.min() + EXACT  # the most antipodal distances
        steps = (2 * k * distance[far]) % p
        adjacent += bool((torch.minimum(steps, p - steps) == 1).all())
        best += bool((far == (complement >= complement.max() - EXACT)).all())
        first, second = gap(p, k), gap(p, 2 * k)
        assert first is not None  # p is prime
        assert second is not None
        doubled += any((first - sign * 2 * second) % p == 0 for sign in (1, -1))
    count = len(frequencies)
    equal = _steps_difference(p, 17) <= EXACT
    rule = f"p = {p}; rule: at every frequency k"
    plain, accompanied = (len(failures(grid_logits(handmade_pizza(FACE, (1, 5), accompanied=some)))) for some in (False, True))
    claims = (
        statement(
            "pairs nearly antipodal on a Pizza's circle are adjacent on the accompanying circle",
            f"{adjacent} of {count} frequencies",
            adjacent == count,
            f"{rule}, the pairs farthest apart are one step apart at 2k",
        ),
        statement(
            "gaps of accompanied and accompanying Pizza: delta_1 = 2 delta_2 (mod p)",
            f"{doubled} of {count} frequencies",
            doubled == count,
            f"{rule}, up to the direction of a gap",
        ),
        statement(
            "the accompanying Pizza works best for formerly antipodal points",
            f"{best} of {count} frequencies",
            best == count,
            f"{rule}, -cos w(a - b) is largest exactly where |cos w(a - b)/2| is smallest",
        ),
        statement(
            "A_c, computed by its three steps, is -cos w(a - b) cos w(a + b - c)",
            "equal" if equal else "not equal",
            equal,
            "p = 59, k = 17; rule: to 1e-12",
        ),
        statement(
            "accompanying Pizzas make up for antipodal pairs",
            f"hand-made Pizzas answer {plain} of {FACE**2} pairs wrong without them, {accompanied} with them",
            plain > 0 and accompanied == 0,
            "p = 12, k = 1 and 5; rule: some wrong or tied without, none with",
        ),
    )
    return Product(FORMULAS, {"": draw_accompanying(*ILLUSTRATED)}, claims=claims)


def _steps_difference(modulus: int, frequency: int) -> float:
    """The algorithm of appendix D, step by step, against its closed form."""
    points = circle(modulus, 2 * frequency)
    middle = (points[:, None] + points) / 2
    return (-middle @ circle(modulus, frequency).T - accompanying_logits(modulus, frequency)).abs().max().item()


# --- |cos t| - |sin t| ------------------------------------------------------------------------------------------------


def _make_approximation(_: Sources) -> Product:
    angles = torch.arange(100_000, dtype=torch.float64) * (2 * torch.pi / 100_000)
    difference, wave = angles.cos().abs() - angles.sin().abs(), (2 * angles).cos()
    spread = difference.var(correction=0)
    explained, flipped = (1 - ((sign * difference - wave).square().mean() / spread).item() for sign in (1, -1))
    amplitude = 2 * (difference * wave).mean().item()
    fitted = amplitude**2 / 2 / spread.item()
    deviation = (difference - wave).abs().max().item()
    claims = (
        statement(
            "|cos t| - |sin t| is about cos 2t for any t",
            f"{explained:.2%} of its variance, largest deviation {deviation:.4f}",
            explained >= APPROXIMATES,
            f"{APPROXIMATION_RULE}; {fitted:.2%} by the best multiple, {amplitude:.4f} cos 2t",
            published="≈",
        ),
        Claim(
            "|sin t| - |cos t| is about cos 2t (appendix L.2)",
            "≈",
            f"{flipped:.0%} of its variance",
            "paper contradicts itself",
            note="appendix A has the signs the other way round, and is right; this is about -cos 2t",
        ),
    )
    return Product(FORMULAS, {"": draw_approximation()}, claims=claims)


# --- table 1 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured:
    """A network's row of table 1. degree: of its logits in the embeddings; None where not measured."""

    algorithm: str
    what: str
    circularity: float
    symmetricity: float
    degree: float | None = None
    even: bool | None = None

    @property
    def shape(self) -> str:
        return "Circle" if self.circularity >= THRESHOLDS.circularity else "not a circle"

    @property
    def symmetric(self) -> str:
        return "Yes" if self.symmetricity > THRESHOLDS.gradient_symmetricity else "No"

    @property
    def operation(self) -> str:
        """Even logits of degree two are products; of degree one, absolute values."""
        if self.degree is None or not self.even:
            return "-"
        return {1: "Absolute value", 2: "Multiplication"}.get(round(self.degree), "-")

    def cells(self) -> tuple[str, ...]:
        degree = "-" if self.degree is None else f"{self.operation} (degree {self.degree:.2f})"
        shape, symmetric = f"{self.shape} ({self.circularity:.4f})", f"{self.symmetric} ({self.symmetricity:.4f})"
        return self.algorithm, self.what, shape, symmetric, degree


def _measure(algorithm: str, what: str, network: Network, *, by_hand: bool = False) -> _Measured:
    round_, symmetric = circularity(network_components(network)), gradient_symmetricity(network)
    if not by_hand:
        return _Measured(algorithm, what, round_, symmetric)
    logits = grid_logits(network)
    first, second = network.operand_tables()
    twice, negated = (grid_logits(network, (factor * first, factor * second)) for factor in (2.0, -1.0))
    degree = math.log2(twice.norm().item() / logits.norm().item())
    even = (negated - logits).abs().max().item() <= EXACT * logits.abs().max().item()
    return _Measured(algorithm, what, round_, symmetric, degree, even)


def _make_table(sources: Sources) -> Product:
    used = ["networks made by hand"]
    rows = [
        _measure("Clock", "made by hand", handmade_clock(PRIME), by_hand=True),
        _measure("Pizza", "made by hand", handmade_pizza(PRIME), by_hand=True),
    ]
    for algorithm, role in (("Clock", "model-b"), ("Pizza", "model-a")):
        try:
            found = sources.network(role)
        except Missing:
            continue
        used.append(found.source)
        rows.append(_measure(algorithm, found.source, found.network))
    claims = []
    for algorithm, symmetric, operation in (("Clock", "No", "Multiplication"), ("Pizza", "Yes", "Absolute value")):
        own = [row for row in rows if row.algorithm == algorithm]
        claims += _row_claims(algorithm, own, symmetric, operation)
    cells, claim, source = _not_circular(sources)
    columns = ("Algorithm", "Measured on", "Learned Embeddings (circularity)", "Gradient Symmetry (symmetricity)")
    table = Table((*columns, "Required Non-linearity"), tuple([row.cells() for row in rows] + cells))
    return Product("; ".join(used + source), tables={"": table}, claims=(*claims, claim))


def _row_claims(algorithm: str, rows: list[_Measured], symmetric: str, operation: str) -> list[Claim]:
    note = f"rule: all of {len(rows)} networks, made by hand and trained"
    by_hand = rows[0]
    return [
        statement(
            f"{algorithm}: learned embeddings",
            ", ".join(f"{row.shape} ({row.circularity:.4f})" for row in rows),
            all(row.shape == "Circle" for row in rows),
            f"{note}, circularity >= {THRESHOLDS.circularity}",
            published="Circle",
            sample=len(rows),
        ),
        statement(
            f"{algorithm}: gradient symmetry",
            ", ".join(f"{row.symmetric} ({row.symmetricity:.4f})" for row in rows),
            all(row.symmetric == symmetric for row in rows),
            f"{note}; symmetric is above {THRESHOLDS.gradient_symmetricity}, on the paper's 100 triples",
            published=symmetric,
            sample=len(rows),
        ),
        statement(
            f"{algorithm}: required non-linearity",
            f"{by_hand.operation}, degree {by_hand.degree:.2f}",
            by_hand.operation == operation,
            "rule, on the hand-made one: logits even in the embeddings, of degree 2 (products) or 1 (absolute values)",
            published=operation,
        ),
    ]


def _not_circular(sources: Sources) -> tuple[list[tuple[str, ...]], Claim, list[str]]:
    """The table's last row, on the first non-circular network there is."""
    text, published, problem = "Non-circular: learned embeddings", "Line, Lissajous-like curves, etc.", ""
    for role in ("line-like", "three-dimensional"):
        try:
            found = sources.network(role)
        except Missing as error:
            problem = problem or str(error)
            continue
        analysis = analyze(found.network)
        shape = analysis.verdict.shape or "circle"
        ours = f"{shape} (circularity {analysis.circularity:.4f})"
        claim = statement(
            text,
            ours,
            analysis.verdict.label == "non-circular" and analysis.verdict.shape in ("line-like", "several frequencies"),
            f"rule: all pairs right, circularity < {THRESHOLDS.circularity}, and the first components are a line or mix "
            "frequencies, as Lissajous curves do; how often each occurs: noncirc",
            published=published,
        )
        return [("Non-circular", found.source, ours, "N/A", "N/A")], claim, [found.source]
    return [], Claim(text, published, "-", "not tested", 0, problem), []


ITEMS: list[Item] = [
    Item("algorithms", "table", "Table 1", "Different neural algorithms for modular addition", (), _make_table),
    Item("clock-pizza", "figure", "Figure 1", "The Clock and the Pizza algorithm", (), _make_algorithms),
    Item("approx", "figure", "Appendix A", "|cos t| - |sin t| is about cos 2t", (), _make_approximation),
    Item("accompill", "figure", "Appendix D", "The accompanying Pizza", (), _make_accompanying),
]
