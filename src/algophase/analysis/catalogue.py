"""The catalogue of everything we measure: each quantity once, with its name, its place in the paper
and how it is shown.

Whatever names a quantity asks here: JSON records, table columns, `runs`, `compare`, reports, the
explorer, the paper's items and the reference in the docs. To add a metric of a network, write a
function of a `Subject` and one entry with it:

    register(Quantity("logit_scale", "logit scale", "largest correct logit", measure=lambda subject:
    ...))

It is then measured with every analysis, printed by `analyze --json`, kept as a column of sweeps,
and offered by the report and the explorer.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from torch import Tensor

from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.hidden.progress_measures import embedding_gini
from algophase.analysis.logits.all_pairs import share_right
from algophase.analysis.logits.metrics import symmetricity_without_equals_sign
from algophase.analysis.subject import Subject
from algophase.analysis.verdict.lines import exceeds, falls_short
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.wording import floored

LONGEST_CELL = 80  # characters of a text in a table


@dataclass(frozen=True)
class Line:
    """Where the paper parts Pizza from Clock. threshold: a field of `Thresholds`; pizza: the
    side a Pizza is on.
    """

    threshold: str
    pizza: Literal["above", "below"]

    @property
    def value(self) -> float:
        """The published line."""
        return float(getattr(Thresholds(), self.threshold))

    def inside(self, values: Any) -> Any:
        """Whether values (a number, an array, a column) lie on the Pizza's side. A value on the
        line does not.
        """
        return (
            exceeds(values, self.value)
            if self.pizza == "above"
            else falls_short(values, self.value)
        )

    def __str__(self) -> str:
        return f"{'>' if self.pizza == 'above' else '<'} {self.value:g}"


@dataclass(frozen=True)
class Quantity:
    """One measured quantity.

    name: in Python, in JSON and as a column. label: what people call it; short: the same for a
        table's head.
    meaning: one sentence. symbol, place: the paper's symbol, and where it or a later paper defines
        it, else "ours".
    low, high: its range, None where it has no end. percent: shown as a share. line: the line the
        paper draws, if any.
    dtype: of its column. measure: how a network's value is found; a tensor may stay on the
        subject's device.
    arrived: it is measured when the numbers of `subject.units` have come from the device, not when
        the device is given work.
    shown: whether summaries, reports and the explorer list it among a network's metrics.
    which: where several share a family, as "gradient symmetricity" and "gradient symmetricity (all
        triples)", which one it is.

    >>> from algophase import Quantity
    >>> Quantity("logit_scale", "logit scale", measure=lambda subject: subject.logits.abs().max()).label
    'logit scale'
    """

    name: str
    label: str
    meaning: str = ""
    short: str = ""
    symbol: str = ""
    place: str = "ours"
    low: float | None = None
    high: float | None = None
    percent: bool = False
    line: Line | None = None
    dtype: Literal["float64", "int64", "bool", "text", "list"] = "float64"
    measure: Callable[[Subject], Tensor | float] | None = None
    arrived: bool = False
    shown: bool = True
    which: str = ""

    @property
    def head(self) -> str:
        return self.short or self.label

    @property
    def family(self) -> str:
        """The label without what is in brackets."""
        return self.label.partition(" (")[0]

    def text(self, value: Any, missing: str = "undefined") -> str:
        """A value as people read it: a share in percent, four decimals between two ends,
        otherwise four digits.
        """
        if _missing(value):
            return missing
        if isinstance(value, bool) or not isinstance(value, int | float):
            return cell_text(value, missing)
        if self.percent and math.isfinite(value):
            return floored(value)
        if self.low is None or self.high is None:
            return f"{value:.4g}"
        return f"{round(value, 4) + 0.0:.4f}"  # + 0.0: no minus zero

    @property
    def phase(self) -> str:
        """The Pizza's side of the line in words: "gradient symmetricity > 0.98"."""
        return self.label if self.line is None else f"{self.label} {self.line}"


_KNOWN: dict[str, Quantity] = {}  # in the order in which they are listed everywhere


def register(quantity: Quantity) -> Quantity:
    """Add a quantity. A name that is taken is refused: two meanings of one column would be mixed
    up.

    >>> from algophase import Quantity, analyze, handmade_clock, register
    >>> scale = register(Quantity("logit_scale", "logit scale", measure=lambda subject: subject.logits.abs().max()))
    >>> round(analyze(handmade_clock(7, (1, 2, 3))).logit_scale, 6)
    3.0
    >>> unregister("logit_scale")
    """
    if not all(part.isidentifier() for part in quantity.name.split(".")):
        raise InputError(
            f"a quantity's name is {quantity.name!r}; it must be a word of letters, digits and _"
        )
    if quantity.name in _KNOWN:
        raise InputError(
            f"there is a quantity {quantity.name!r} already ({_KNOWN[quantity.name].label}); "
            "choose another name"
        )
    _KNOWN[quantity.name] = quantity
    return quantity


def unregister(name: str) -> None:
    """Take out a quantity that was added."""
    _KNOWN.pop(name, None)


def catalogue() -> Mapping[str, Quantity]:
    """All quantities by name, in their order."""
    return MappingProxyType(_KNOWN)


def metrics() -> list[Quantity]:
    """Those measured on every network, in the order of JSON records and columns."""
    return [quantity for quantity in _KNOWN.values() if quantity.measure is not None]


def listed(values: Mapping[str, Any]) -> list[Quantity]:
    """The metrics to list for a network with these values: those shown, and any other of their
    families that has a value.
    """
    families = {quantity.family for quantity in metrics() if quantity.shown}
    return [
        quantity
        for quantity in metrics()
        if quantity.shown
        or (quantity.family in families and not _missing(values.get(quantity.name)))
    ]


def _missing(value: Any) -> bool:
    return value is None or value != value


def cell_text(value: Any, missing: str = "-") -> str:
    """Any cell of a table as a short text."""
    if _missing(value):
        return missing
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if value == 0 or not 0.001 <= abs(value) < 1 else f"{value:.4f}"
    return str(value)[:LONGEST_CELL]


def value_text(name: str, value: Any, missing: str = "-") -> str:
    """A column's value as people read it, also of a column that is no quantity of ours."""
    return _KNOWN[name].text(value, missing) if name in _KNOWN else cell_text(value, missing)


def quantity(name: str) -> Quantity:
    if name not in _KNOWN:
        raise InputError(f"there is no quantity {name!r}; there are {', '.join(_KNOWN)}")
    return _KNOWN[name]


def label(name: str) -> str:
    """A column as people call it, also one that is no quantity of ours."""
    return _KNOWN[name].label if name in _KNOWN else name.replace("_", " ")


def line(name: str) -> Line:
    """The line the paper draws along a quantity."""
    found = quantity(name).line
    if found is None:
        raise InputError(f"the paper draws no line along {label(name)}")
    return found


SYMMETRICITY, EXACT, BARE = (
    "gradient_symmetricity",
    "gradient_symmetricity_exact",
    "gradient_symmetricity_without_equals_sign",
)
IRRELEVANCE, WRONG_LOGIT = "distance_irrelevance", "distance_irrelevance_wrong_logit"
CIRCULARITY = "circularity"
_SYMMETRIC = Line("gradient_symmetricity", "above")
_DEPENDENT = Line("clock_distance_irrelevance", "below")


def _of_units(name: str) -> Callable[[Subject], float]:
    """One of the `UnitMeans` of the first hidden layer, undefined without units."""
    return lambda subject: (
        math.nan if subject.units is None else float(getattr(subject.units.means, name))
    )


def _circularity(subject: Subject) -> float:
    """Undefined where the operands have tables of their own, as in the paper, and without an
    embedding.
    """
    defined = subject.shared_table and subject.network.cut == "embedding"
    return subject.operand_circularity[0] if defined else math.nan


for entry in (
    Quantity(
        "accuracy",
        "accuracy (all pairs)",
        "share of all p² pairs answered right; a tie is not an answer",
        short="accuracy",
        low=0,
        high=1,
        percent=True,
        measure=lambda subject: share_right(subject.right),
    ),
    Quantity(
        "cross_entropy",
        "cross-entropy (all pairs)",
        "mean cross-entropy over all p² pairs",
        short="cross-entropy",
        low=0,
        measure=lambda subject: subject.mean_losses[0],
        shown=False,
    ),
    Quantity(
        SYMMETRICITY,
        "gradient symmetricity",
        "mean cosine of a logit's gradients by the two operands, over the paper's 100 triples: "
        "1 for a Pizza",
        symbol="s_g",
        place="section 4.1.1",
        low=-1,
        high=1,
        line=_SYMMETRIC,
        measure=lambda subject: subject.symmetricities[0],
        which="paper's 100 triples",
    ),
    Quantity(
        EXACT,
        "gradient symmetricity (all triples)",
        "the same over all p³ triples, which the paper estimates with 100",
        short="grad. symm. (all)",
        symbol="s_g",
        place="section 4.1.1",
        low=-1,
        high=1,
        line=_SYMMETRIC,
        measure=lambda subject: subject.symmetricities[1],
        which="all p^3 triples",
    ),
    Quantity(
        BARE,
        "gradient symmetricity (without the equals sign)",
        "of a network with an equals sign that is given the operands alone, which is what the "
        "released table holds",
        short="grad. symm. (no =)",
        low=-1,
        high=1,
        line=_SYMMETRIC,
        measure=lambda subject: symmetricity_without_equals_sign(subject.network),
        shown=False,
        which="without the equals sign, the released table's",
    ),
    Quantity(
        IRRELEVANCE,
        "distance irrelevance",
        "how little the correct logit depends on a − b: low for a Pizza, high for a Clock",
        short="dist. irrelevance",
        symbol="q",
        place="section 4.1.2",
        low=0,
        high=1,
        line=_DEPENDENT,
        measure=lambda subject: subject.irrelevances[0],
        which="correct logit, the paper's definition",
    ),
    Quantity(
        WRONG_LOGIT,
        "distance irrelevance (wrong logit)",
        "the same of the largest wrong logit, which is what the released table holds",
        short="dist. irr. (wrong logit)",
        low=0,
        high=1,
        line=_DEPENDENT,
        measure=lambda subject: subject.irrelevances[1],
        which="largest wrong logit, the released table's",
    ),
    Quantity(
        CIRCULARITY,
        "circularity",
        "mean over the first four principal components of the largest share that one frequency "
        "has of it",
        symbol="c",
        place="appendix B",
        low=0,
        high=1,
        measure=_circularity,
    ),
    # What later papers measure on the hidden units (docs/method.md).
    Quantity(
        "disc_cka",
        "disc likeness",
        "linear CKA of each frequency's hidden units with the disc (cos θa + cos θb, sin θa + "
        "sin θb), mean by units",
        place="arXiv 2512.25060",
        low=0,
        high=1,
        measure=_of_units("disc"),
        arrived=True,
        shown=False,
    ),
    Quantity(
        "torus_cka",
        "torus likeness",
        "the same with the torus (cos θa, sin θa, cos θb, sin θb); a disc has 0.7071",
        place="arXiv 2512.25060",
        low=0,
        high=1,
        measure=_of_units("torus"),
        arrived=True,
        shown=False,
    ),
    Quantity(
        "turned_disc_cka",
        "disc likeness (any turn)",
        "the disc's, with its two circles turned against each other as fits best: for operands "
        "with tables of their own",
        short="disc (any turn)",
        low=0,
        high=1,
        measure=_of_units("turned"),
        arrived=True,
        shown=False,
    ),
    Quantity(
        "product_share",
        "product share",
        "share of the hidden pre-activations' variance in products of the operands' waves, at "
        "each unit's own frequency",
        low=0,
        high=1,
        percent=True,
        measure=_of_units("product_share"),
        arrived=True,
        shown=False,
    ),
    Quantity(
        "single_frequency_fit",
        "single-frequency fit",
        "mean R² of a hidden unit's pre-activation as a wave of a and one of b, of one frequency",
        short="single-freq. fit",
        low=0,
        high=1,
        measure=_of_units("fit"),
        arrived=True,
        shown=False,
    ),
    Quantity(
        "phase_resultant",
        "phase resultant",
        "length of the mean of exp i(φ_a + φ_b − φ_c) over hidden units: 1 if all read and "
        "write in step",
        low=0,
        high=1,
        measure=_of_units("resultant"),
        arrived=True,
        shown=False,
    ),
    Quantity(
        "embedding_gini",
        "Gini of the embedding",
        "Gini coefficient of the norms of the embedding at each frequency",
        place="arXiv 2301.05217",
        low=0,
        high=1,
        measure=lambda subject: embedding_gini(subject.components),
        shown=False,
    ),
    Quantity(
        "restricted_loss",
        "restricted loss",
        "mean cross-entropy over all pairs with the waves of a + b at the key frequencies alone",
        place="arXiv 2301.05217",
        low=0,
        measure=lambda subject: subject.mean_losses[1],
        shown=False,
    ),
    Quantity(
        "excluded_loss",
        "excluded loss",
        "mean cross-entropy over all pairs without the waves of a + b at the key frequencies",
        place="arXiv 2301.05217",
        low=0,
        measure=lambda subject: subject.mean_losses[2],
        shown=False,
    ),
    # What training records of a run.
    Quantity("training_loss", "training loss", "mean cross-entropy over the training pairs", low=0),
    Quantity(
        "validation_loss", "validation loss", "mean cross-entropy over the validation pairs", low=0
    ),
    Quantity(
        "training_accuracy",
        "training accuracy",
        "share of the training pairs",
        low=0,
        high=1,
        percent=True,
    ),
    Quantity(
        "validation_accuracy",
        "validation accuracy",
        "share of the validation pairs",
        low=0,
        high=1,
        percent=True,
    ),
    Quantity("parameter_norm", "parameter norm", "Euclidean norm of all parameters", low=0),
    # What a verdict rests on.
    Quantity(
        "verdict",
        "verdict",
        "which algorithm: Clock, Pizza, hybrid, other, lookup or not learned",
        dtype="text",
    ),
    Quantity(
        "sentence",
        "verdict in words",
        "the verdict by its instances, such as two Clocks and a Pizza",
        dtype="text",
    ),
    Quantity(
        "additivity",
        "additivity",
        "share of the logits that the sum of the instances explains",
        high=1,
        percent=True,
    ),
    Quantity(
        "program.explained", "program explains", "share of the logits", low=0, high=1, percent=True
    ),
    Quantity(
        "program.answer_share",
        "answer-following share",
        "of the logits",
        low=0,
        high=1,
        percent=True,
    ),
    Quantity(
        "program.readout_share", "read-out share", "of the logits", low=0, high=1, percent=True
    ),
    Quantity("program.offset_share", "offset share", "of the logits", low=0, high=1, percent=True),
    Quantity(
        "program.rest",
        "unexplained by class",
        "share of the logits in no class of the program",
        high=1,
        percent=True,
    ),
    Quantity(
        "pizza_logit_share",
        "Pizza share of the logits",
        "of Clocks, Pizzas and mixtures",
        low=0,
        high=1,
        percent=True,
    ),
    Quantity(
        "named_share", "named share", "of the logits, instances with a form", high=1, percent=True
    ),
    Quantity(
        "nearest_distance",
        "distance to the nearest threshold",
        "of all thresholds of the verdict",
        low=0,
    ),
    # What the paper's label rests on.
    Quantity(
        "paper_label", "paper's label", "by the paper's rules", place="section 4.1.3", dtype="text"
    ),
    Quantity(
        "pizza_share",
        "Pizza share",
        "of the logit variance of circles with a role",
        low=0,
        high=1,
        percent=True,
    ),
    Quantity(
        "metrics_agree", "metrics agree", "whether the two metrics point the same way", dtype="bool"
    ),
):
    register(entry)
del entry


@dataclass(frozen=True)
class CircleQuantity:
    """One quantity of each circle, a list column `circles.NAME`. read: its value from a circle's
    evidence.
    """

    name: str
    label: str
    read: Callable[[CircleEvidence], Any]
    percent: bool = False


def _of_evidence(name: str, label: str, percent: bool = False) -> CircleQuantity:
    return CircleQuantity(name, label, lambda item: getattr(item, name), percent)


def _of_circle(name: str, label: str, percent: bool = False) -> CircleQuantity:
    return CircleQuantity(name, label, lambda item: getattr(item.circle, name), percent)


CIRCLE_QUANTITIES: tuple[CircleQuantity, ...] = (
    _of_circle("frequency", "frequency"),
    CircleQuantity("components", "components", lambda item: list(item.circle.components)),
    _of_circle("variance_share", "variance", percent=True),
    _of_evidence("accompanies", "accompanies"),
    _of_evidence("fve_clock", "FVE Clock", percent=True),
    _of_evidence("fve_pizza", "FVE Pizza", percent=True),
    _of_evidence("fve_accompanying", "FVE accompanying", percent=True),
    _of_evidence("accuracy_alone", "accuracy alone", percent=True),
    _of_evidence("role", "role"),
    _of_circle("method", "method"),
    _of_circle("phase", "phase"),
    _of_circle("radius", "radius"),
    _of_circle("roundness", "roundness"),
    _of_circle("purity", "purity", percent=True),
    _of_circle("offset", "offset"),
    _of_circle("alignment", "alignment"),
    _of_evidence("clock_weight", "Clock weight"),
    _of_evidence("pizza_weight", "Pizza weight"),
    _of_evidence("accompanying_weight", "accompanying weight"),
    _of_evidence("logit_variance", "logit variance"),
    _of_evidence("explained", "explained", percent=True),
)
