"""An analysis as plain values: what `algophase analyze --json` prints, and what the columns of a
sweep hold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algophase.analysis.catalogue import CIRCLE_QUANTITIES
from algophase.analysis.hidden.anatomy import Anatomy
from algophase.analysis.plain import to_plain
from algophase.analysis.program.forms import FITTED
from algophase.analysis.program.instances import Instance
from algophase.analysis.program.read import Program
from algophase.analysis.verdict.decide import Form, fit_of

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis


@dataclass(frozen=True)
class InstanceQuantity:
    """One quantity of each instance, a list column `instances.NAME`. read: its value, from an
    instance and its form.
    """

    name: str
    read: Callable[[Instance, Form], Any]


def _of_instance(name: str) -> InstanceQuantity:
    return InstanceQuantity(name, lambda each, form: getattr(each, name))


INSTANCE_QUANTITIES: tuple[InstanceQuantity, ...] = (
    InstanceQuantity("frequencies", lambda each, form: list(each.frequencies)),
    InstanceQuantity("form", lambda each, form: form),
    _of_instance("share"),
    InstanceQuantity("fit", lambda each, form: fit_of(each, form)),
    _of_instance("accuracy_alone"),
    _of_instance("accuracy_without"),
    _of_instance("kept"),
    _of_instance("pizza_part"),
    # The rest is what other thresholds would need.
    InstanceQuantity("keys", lambda each, form: list(each.keys)),
    _of_instance("energy"),
    _of_instance("share_without"),
    _of_instance("following"),
    _of_instance("clock"),
    _of_instance("pizza"),
    _of_instance("companion"),
    InstanceQuantity("fits", lambda each, form: [each.fits[name] for name in FITTED]),
)
SHARES = ("answer_share", "answer_only_share", "sum_share", "readout_share", "offset_share", "rest")


def record_of(analysis: "Analysis") -> dict[str, Any]:
    """Plain values, null for what is undefined. What a row of an older table does not have is
    left out.
    """
    verdict, paper = analysis.verdict, analysis.paper
    record: dict[str, Any] = {
        "id": analysis.id,
        **analysis.metrics,
        "operand_circularity": list(analysis.operand_circularity),
    }
    if verdict.known:
        record |= {
            "verdict": verdict.label,
            "sentence": verdict.sentence,
            "reasons": list(verdict.reasons),
            "pizza_logit_share": verdict.pizza_share,
            "named_share": verdict.confidence.named_share,
            "nearest_line": verdict.confidence.nearest_line,
            "nearest_distance": verdict.confidence.nearest_distance,
            "additivity": analysis.additivity,
            "outstanding": analysis.instances.outstanding,
            "program": _program_record(analysis.program),
            "instances": [
                {field.name: field.read(each, form) for field in INSTANCE_QUANTITIES}
                for each, form in zip(analysis.instances.instances, verdict.forms, strict=True)
            ],
        }
    if analysis.instead is not None:
        record["learned_instead"] = analysis.instead.sentence
    record |= {
        "paper_label": paper.label,
        "paper_reasons": list(paper.reasons),
        "metrics_agree": paper.metrics_agree,
        "shape": paper.shape,
        "pizza_share": paper.pizza_share,
        "cautions": list(analysis.cautions),
        "circles": [
            {field.name: field.read(item) for field in CIRCLE_QUANTITIES}
            for item in analysis.circles
        ],
        "anatomy": None if analysis.anatomy is None else _anatomy_record(analysis.anatomy),
    }
    plain: dict[str, Any] = to_plain(record)
    return plain


def _program_record(program: Program) -> dict[str, Any]:
    return {
        **{name: getattr(program, name) for name in SHARES},
        "explained": program.explained,
        "answer_accuracy": program.answer_accuracy,
        "norm": program.norm,
        "numbers": program.numbers,
        "frequencies": list(program.frequencies),
        "frequency_shares": list(program.frequency_shares),
        "harmonics": program.harmonics.tolist(),
        "profiles": program.profiles.tolist(),
    }


def _anatomy_record(opened: Anatomy) -> dict[str, Any]:
    relu = opened.second_relu
    return {
        "pizzas": [
            {
                "frequency": pizza.frequency,
                "embedding_components": list(pizza.embedding_components),
                "unembedding_components": list(pizza.unembedding_components),
                "rows": len(pizza.rows),
                "readouts": [
                    {
                        "axis": readout.axis,
                        "amplitude": readout.amplitude,
                        "phase": readout.phase,
                        "variance_explained": readout.variance_explained,
                    }
                    for readout in pizza.readouts
                ],
            }
            for pizza in opened.pizzas
        ],
        "unmatched_frequencies": list(opened.unmatched),
        "exclusive_share": opened.exclusive_share,
        "same_pizza_share": opened.same_pizza_share,
        "second_relu": None if relu is None else vars(relu).copy(),
    }
