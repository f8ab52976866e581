"""The record of an analysis: what `algophase analyze --json` prints, and what the columns of a
sweep hold; and an analysis back from the columns of its row.

Each layout says which attribute an entry of the record is. A row keeps numbers, not functions: an
analysis that is read from one has no profiles, and no anatomy of a linear network.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from algophase.analysis.catalogue import CIRCLE_QUANTITIES, EXACT, IRRELEVANCE, metrics
from algophase.analysis.circles.find import Circle
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.hidden.anatomy import Anatomy
from algophase.analysis.program.by_representation import OnGroup
from algophase.analysis.program.forms import FITTED, period_of
from algophase.analysis.program.instances import Instance, Instances
from algophase.analysis.program.read import Program
from algophase.analysis.verdict.decide import (
    NO_VERDICT,
    Form,
    Verdict,
    decide,
    findings,
    fit_of,
)
from algophase.analysis.verdict.group_verdict import decide_on_group
from algophase.analysis.verdict.group_verdict import form_of as group_form
from algophase.analysis.verdict.paper_label import (
    Measurements,
    PaperVerdict,
    Shape,
    circularity_name,
)
from algophase.core.lines import TIE
from algophase.record.codec import decode_value, encode_value, read_fields, undefined_numbers
from algophase.record.columns import items_of, part_of
from algophase.record.layout import Layout, to_record

if TYPE_CHECKING:
    from algophase.analysis.result import Analysis

MOST_TEXTS, LONGEST_TEXT = 40, 400  # of reasons and cautions in a table from elsewhere


class DecidedInstance(NamedTuple):
    """An instance with the form that the verdict gives it."""

    instance: Instance
    form: Form


VERDICT = Layout(
    {
        "verdict": "label",
        "sentence": "sentence",
        "reasons": "reasons",
        "pizza_logit_share": "pizza_share",
        "named_share": "confidence.named_share",
        "nearest_line": "confidence.nearest_line",
        "nearest_distance": "confidence.nearest_distance",
    }
)
PAPER = Layout(
    {
        "paper_label": "label",
        "paper_reasons": "reasons",
        "metrics_agree": "metrics_agree",
        "shape": "shape",
        "pizza_share": "pizza_share",
    }
)
INSTANCES = Layout.of_names("additivity", "outstanding")
INSTANCE = Layout(
    {
        "frequencies": "instance.frequencies",
        "form": "form",
        "share": "instance.share",
        "fit": lambda decided: fit_of(decided.instance, decided.form),
        "accuracy_alone": "instance.accuracy_alone",
        "accuracy_without": "instance.accuracy_without",
        "kept": "instance.kept",
        "pizza_part": "instance.pizza_part",
        # The rest is what other thresholds would need.
        "keys": "instance.keys",
        "energy": "instance.energy",
        "share_without": "instance.share_without",
        "following": "instance.following",
        "clock": "instance.clock",
        "pizza": "instance.pizza",
        "companion": "instance.companion",
        "adding": "instance.adding",
        "interaction": "instance.interaction",
        "fits": lambda decided: [decided.instance.fits[name] for name in FITTED],
    }
)
PROGRAM = Layout.of_names(
    *("answer_share", "answer_only_share", "sum_share", "readout_share", "offset_share", "rest"),
    *("left_share", "right_share"),
    *("explained", "answer_accuracy", "norm", "numbers"),
    *("frequencies", "frequency_shares", "harmonics", "profiles"),
)
GROUP = Layout.of_names(
    *("name", "order", "classes", "accuracy", "cross_entropy", "additivity", "remainder"),
    *("shares", "embedding"),
)
GROUP_INSTANCE = Layout(
    {
        "representations": "representations",
        "form": lambda instance: group_form(instance),
        **{name: name for name in ("dimensions", "kinds", "embedding_share", "share", "energy")},
        **{name: name for name in ("accuracy_alone", "accuracy_without", "share_without")},
        **{name: name for name in ("adding", "interaction")},
    }
)
CIRCLE = Layout({quantity.name: quantity.path for quantity in CIRCLE_QUANTITIES})
READOUT = Layout.of_names("axis", "amplitude", "phase", "variance_explained")
PIZZA = Layout(
    {
        "frequency": "frequency",
        "embedding_components": "embedding_components",
        "unembedding_components": "unembedding_components",
        "rows": lambda pizza: len(pizza.rows),
        "readouts": lambda pizza: READOUT.records(pizza.readouts),
    }
)
ANATOMY = Layout(
    {
        "pizzas": lambda anatomy: PIZZA.records(anatomy.pizzas),
        "unmatched_frequencies": "unmatched",
        "exclusive_share": "exclusive_share",
        "same_pizza_share": "same_pizza_share",
        "second_relu": "second_relu",
    }
)


def record_of(analysis: "Analysis") -> dict[str, Any]:
    """JSON values, null for what is undefined. What a row of an older table does not have is
    left out.
    """
    record: dict[str, Any] = {"id": analysis.id}
    record |= to_record(analysis.metrics)
    record["operand_circularity"] = to_record(analysis.operand_circularity)
    if analysis.verdict.known:
        record |= VERDICT.record(analysis.verdict)
        record |= INSTANCES.record(analysis.instances)
        record["program"] = PROGRAM.record(analysis.program)
        pairs = zip(analysis.instances.instances, analysis.verdict.forms, strict=True)
        record["instances"] = INSTANCE.records(DecidedInstance(*pair) for pair in pairs)
    if analysis.on_group is not None:
        record["on_group"] = GROUP.record(analysis.on_group)
        record["on_group"]["instances"] = GROUP_INSTANCE.records(analysis.on_group.instances)
    if analysis.instead is not None:
        record["learned_instead"] = analysis.instead.sentence
    record |= PAPER.record(analysis.paper)
    record["cautions"] = list(analysis.cautions)
    record["circles"] = CIRCLE.records(analysis.circles)
    record["anatomy"] = _anatomy_record(analysis.anatomy)
    return record


def _anatomy_record(anatomy: Anatomy | None) -> dict[str, Any] | None:
    return None if anatomy is None else ANATOMY.record(anatomy)


def fields_of_row(
    row: Mapping[str, Any], circles: Sequence[Circle] | None = None
) -> dict[str, Any]:
    """The fields of the `Analysis` that a row was made from.

    circles: those found in the run's weights, which must be the row's; without them, as the row
        describes them. A row that lacks or garbles anything raises KeyError, TypeError or
        ValueError; what an older table does not hold is NaN.
    """
    modulus = decode_value(int, row["modulus"])
    values = {quantity.name: decode_value(float, row.get(quantity.name)) for quantity in metrics()}
    circularities = row.get("operand_circularity") or [row["circularity"]]
    by_operand = decode_value(tuple[float, ...], circularities)
    program = _read_program(part_of(row, "program"), modulus, values["accuracy"])
    instances = _read_instances(row, modulus)
    paper = _read_paper(row)
    on_group = _read_group(row)
    return {
        "id": decode_value(str, row["run_id"]),
        "metrics": values,
        "operand_circularity": by_operand,
        "verdict": _read_verdict(row, program, instances, on_group),
        "program": program,
        "instances": instances,
        "paper": paper,
        "measured": _measurements(modulus, values, by_operand, paper),
        "circles": _read_circles(row, circles),
        "anatomy": None,
        "cautions": tuple(_bounded(row.get("cautions") or [])),
        "on_group": on_group,
    }


def _read_group(row: Mapping[str, Any]) -> OnGroup | None:
    columns = part_of(row, "on_group")
    if columns.get("order") is None:
        return None
    encoded = {name: columns.get(name) for name in GROUP.names}
    encoded["shares"] = part_of(columns, "shares")
    encoded["embedding"] = items_of(columns, "embedding")
    encoded["instances"] = [GROUP_INSTANCE.tree(item) for item in items_of(columns, "instances")]
    return decode_value(OnGroup, encoded)


def _bounded(texts: Any) -> list[str]:
    """A few texts of bounded length: a table from elsewhere can say anything."""
    return [str(text)[:LONGEST_TEXT] for text in texts[:MOST_TEXTS]]


def _measurements(
    modulus: int, values: Mapping[str, float], by_operand: Sequence[float], paper: PaperVerdict
) -> Measurements:
    accuracy = values["accuracy"]
    pairs = modulus**2
    return Measurements(
        accuracy=accuracy,
        pairs=pairs,
        wrong_pairs=round((1 - accuracy) * pairs) if math.isfinite(accuracy) else 0,
        distance_irrelevance=values[IRRELEVANCE],
        gradient_symmetricity=values[EXACT],
        circularity=min(by_operand),
        circularity_name=circularity_name(len(by_operand)),
        shape=_read_shape(paper),
    )


def _read_paper(row: Mapping[str, Any]) -> PaperVerdict:
    encoded = PAPER.tree(row)
    encoded["reasons"] = _bounded(encoded["reasons"])
    return decode_value(PaperVerdict, encoded)


def _read_shape(paper: PaperVerdict) -> tuple[Shape, str] | None:
    """The shape with the reason that describes it."""
    if paper.shape is None:
        return None
    start = "a curve through" if paper.shape == "several frequencies" else paper.shape
    for reason in paper.reasons:
        if reason.startswith(start):
            return paper.shape, reason
    return paper.shape, paper.shape


def _read_program(columns: Mapping[str, Any], modulus: int, accuracy: float) -> Program:
    """Shares, key frequencies and the harmonics of their profiles."""
    encoded: dict[str, Any] = {"frequencies": [], "frequency_shares": [], "harmonics": []}
    encoded |= undefined_numbers(Program)
    encoded |= PROGRAM.tree(columns)
    values = read_fields(Program, encoded)
    nothing = np.zeros((len(values["frequencies"]), 0))
    if not values["frequencies"]:
        values["harmonics"] = nothing
    values |= {"modulus": modulus, "accuracy": accuracy}
    return Program(
        **values,
        spectrum=np.zeros(0),
        profiles=nothing,
        sine_profiles=nothing,
        readout=nothing.astype(np.complex128),
        readout_spectrum=nothing,
        offsets=np.zeros(0),
        answer=np.zeros((0, 0)),
    )


def _read_instances(row: Mapping[str, Any], modulus: int) -> Instances:
    items = items_of(row, "instances")
    instances = tuple(_read_instance(item, modulus) for item in items)
    return Instances(
        instances=instances,
        circles=(),
        additivity=decode_value(float, row.get("additivity")),
        remainder=1.0 - sum(instance.share for instance in instances),
        outstanding=decode_value(int, row.get("outstanding") or 0),
    )


def _read_instance(columns: Mapping[str, Any], modulus: int) -> Instance:
    values = read_fields(Instance, INSTANCE.tree(columns)["instance"])
    fits = decode_value(tuple[float, ...], columns["fits"])
    return Instance(
        **values,
        fits=dict(zip(FITTED, fits, strict=True)),
        period=period_of(values["frequencies"][0], modulus),
        profile=np.zeros(0),
        leading_profile=np.zeros(0),
    )


def _read_verdict(
    row: Mapping[str, Any], program: Program, instances: Instances, on_group: OnGroup | None
) -> Verdict:
    """As the row has it, which may have been decided by other thresholds than the published ones.

    Where the published ones decide the same, the verdict is in the words of this version: older
    tables have older words.
    """
    if row.get("verdict") is None:
        return NO_VERDICT
    encoded = VERDICT.tree(row)
    encoded["sentence"] = str(encoded["sentence"])[:LONGEST_TEXT]
    encoded["reasons"] = _bounded(encoded["reasons"])
    encoded["forms"] = row.get("instances.form") or []
    encoded["distances"] = {}
    encoded["confidence"]["additivity"] = instances.additivity
    recorded = decode_value(Verdict, encoded)
    if len(recorded.forms) != len(instances.instances):
        raise ValueError("a form for each instance")
    if math.isnan(program.accuracy):
        return recorded
    today = decide_on_group(on_group) if on_group else decide(findings(program, instances))
    return today if _decide_the_same(today, recorded) else recorded


def _decide_the_same(today: Verdict, recorded: Verdict) -> bool:
    if (today.label, today.forms) != (recorded.label, recorded.forms):
        return False
    if today.confidence.nearest_line != recorded.confidence.nearest_line:
        return False
    distances = today.confidence.nearest_distance, recorded.confidence.nearest_distance
    return abs(distances[0] - distances[1]) <= TIE


def _read_circles(
    row: Mapping[str, Any], circles: Sequence[Circle] | None
) -> tuple[CircleEvidence, ...]:
    items = items_of(row, "circles")
    by_weights = [None] * len(items) if circles is None else circles
    evidence = []
    for item, circle in zip(items, by_weights, strict=True):
        evidence.append(_read_evidence(item, circle))
    frequencies = decode_value(tuple[int, ...], row.get("frequencies") or [])
    if frequencies != tuple(item.circle.frequency for item in evidence):
        raise ValueError("the row has other circles")
    return tuple(evidence)


def _read_evidence(columns: Mapping[str, Any], circle: Circle | None) -> CircleEvidence:
    encoded: dict[str, Any] = undefined_numbers(CircleEvidence) | CIRCLE.tree(columns)
    described = undefined_numbers(Circle) | encoded["circle"]
    encoded["circle"] = described if circle is None else encode_value(circle)
    return decode_value(CircleEvidence, encoded)
