"""The stages of an analysis are those of its parts one by one, for one network or many, on
any device.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from made_networks import mixture
from one_by_one import found_in, program
from test_device import assert_same, needs_gpu, networks

from algophase.analysis import analyze as analysis_of
from algophase.analysis._pending import Pending
from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.circles.find import find_circles
from algophase.analysis.circles.principal import network_components
from algophase.analysis.circles.roles import circle_evidence
from algophase.analysis.device import in_float64
from algophase.analysis.logits.sums import LogitSums
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.analysis.verdict.decide import decide
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza


def test_an_analysis_is_that_of_its_stages_one_by_one() -> None:
    network = mixture(23, (2,), (5,), 0.6)
    found, measured = found_in(network)
    made = analyze(network, Thresholds(hybrid_share=0.45))
    assert made.verdict.label == "Clock"
    assert made.decide(Thresholds()).verdict.label == decide(measured).label == "hybrid"
    assert made.additivity == pytest.approx(found.additivity, abs=1e-12)
    assert [each.frequencies for each in made.instances.instances] == [
        each.frequencies for each in found.instances
    ]
    assert made.program.explained == pytest.approx(
        program(in_float64(network)).explained, abs=1e-12
    )
    components = network_components(in_float64(network))
    for one, other in zip(
        made.circles,
        circle_evidence(in_float64(network), find_circles(components), components),
        strict=True,
    ):
        assert (one.circle.frequency, one.role) == (other.circle.frequency, other.role)
        assert one.logit_variance == pytest.approx(other.logit_variance, rel=1e-9)


def test_other_lines_need_no_other_analysis() -> None:
    made = analyze(handmade_pizza(23, (1, 5)))
    assert (made.verdict.label, made.paper_label) == ("Pizza", "Pizza")
    strict = made.decide(
        Thresholds(program=1.0, pizza_distance_irrelevance=0.0, clock_distance_irrelevance=0.0)
    )
    assert strict.verdict.label == "other"
    assert strict.sentence.startswith("no algorithm found: its program explains")
    assert any("disagree" in reason for reason in strict.paper.reasons)
    assert strict.metrics == made.metrics


def test_other_lines_move_roles_and_forms_alike() -> None:
    """A circle with 60% of a Pizza's amplitude is a mixture, and by a lower line a Pizza."""
    made = analyze(mixture(23, (2,), (2,), 0.6))
    assert {item.role for item in made.circles} == {"mixed"}
    assert set(made.verdict.forms) == {"both"}
    part = made.circles[0].pizza_weight / (
        made.circles[0].clock_weight + made.circles[0].pizza_weight
    )
    lower = made.decide(Thresholds(pizza_part=max(0.5, part - 0.01)))
    assert {item.role for item in lower.circles} == {"Pizza"}
    assert set(lower.verdict.forms) == {"Pizza"}
    strict = made.decide(Thresholds(fit=1.0))
    assert {item.role for item in strict.circles} == {"unclear"}
    assert set(strict.verdict.forms) == {"other"}
    assert lower.decide(Thresholds()).circles == made.circles


def test_what_the_metrics_cannot_say_is_said() -> None:
    """Embeddings that are added, or concatenated; circles of equal size."""
    added, equal = analyze(handmade_pizza(23, (1, 5))).cautions
    assert added.startswith("gradient symmetricity is 1 by construction")
    assert "4 principal components have equal size" in equal
    assert analyze(handmade_clock(23, (1,))).cautions == ()
    for model, said in (("gamma", ()), ("delta", ("depends on the basis",))):
        network = initialize(
            RunSettings(TaskSettings(modulus=11), LinearSettings(model, 8, 8), seed=0)
        )
        cautions = analyze(network).cautions
        assert len(cautions) == len(said) or model == "gamma"
        assert all(phrase in caution for phrase, caution in zip(said, cautions, strict=False))


def test_the_record_says_what_is_inside() -> None:
    record = json.loads(json.dumps(analyze(handmade_pizza(23, (1, 5), accompanied=True)).to_dict()))
    assert (record["verdict"], record["sentence"], record["paper_label"]) == (
        "Pizza",
        "two Pizzas",
        "Pizza",
    )
    shares = [
        record["program"][name]
        for name in ("answer_share", "readout_share", "offset_share", "rest")
    ]
    assert sum(shares) == pytest.approx(1)
    assert sorted(record["program"]["frequencies"]) == [1, 5]
    assert [len(profile) for profile in record["program"]["profiles"]] == [23, 23]
    assert sorted(map(tuple, (each["frequencies"] for each in record["instances"]))) == [
        (1, 2),
        (5, 10),
    ]
    for each in record["instances"]:
        assert {
            "frequencies",
            "form",
            "share",
            "fit",
            "accuracy_alone",
            "accuracy_without",
        } <= each.keys()
        assert each["form"] == "Pizza with companion"


def test_a_repr_is_one_line() -> None:
    assert "\n" not in repr(analyze(handmade_clock(11, (1, 4))))
    assert repr(analyze(handmade_clock(11, (1, 4)))).startswith(
        "<Analysis of clock-p11-k1-4: two Clocks; additivity 100.00%"
    )


def test_circles_looked_at_ahead_of_the_program_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a GPU: the doubles of what the embedding shows are isolated with it, wanted or not."""
    every = [mixture(23, (2,), (5,), 0.6), *networks()[:3]]
    expected, isolate = [analyze(network) for network in every], analysis_of._isolate
    launched: list[Sequence[Sequence[int]]] = []

    def recorded(
        subject: Subject, groups: Sequence[Sequence[int]], *others: Any, **how: Any
    ) -> Pending[LogitSums]:
        launched.append(groups)
        return isolate(subject, groups, *others, **how)

    monkeypatch.setattr(analysis_of, "_isolate", recorded)
    monkeypatch.setattr(Subject, "device", torch.device("meta"))
    for network, before in zip(every, expected, strict=True):
        found = analyze(network)
        assert [each.frequency for each in found.instances.circles] == [
            each.frequency for each in before.instances.circles
        ]
        assert_same(found.to_dict(), before.to_dict())
    # Of the first network: the doubles 4 and 10 at once, nothing that is missing, and the instances.
    assert launched[:2] == [[[2], [5], [4], [10]], [[2], [5]]]


@needs_gpu
def test_a_gpu_gives_the_same_answers() -> None:
    every = networks()
    for one, other in zip(analyze_many(every, device="cuda"), analyze_many(every), strict=True):
        assert isinstance(one, Analysis)
        assert isinstance(other, Analysis)
        assert one.sentence == other.sentence
        assert one.additivity == pytest.approx(other.additivity, abs=1e-9)
        assert one.program.explained == pytest.approx(other.program.explained, abs=1e-9)
