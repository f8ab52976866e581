"""What a moment has beyond an analysis, on networks whose every number is known."""

import math

import pytest
import torch
from test_device import OneDevice, networks

from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.circles.find import (
    circle_alone,
    component_pairs,
    isolate_circles,
    isolate_components,
    without_circles,
)
from algophase.analysis.circles.formulas import antipodal_pairs, failures
from algophase.analysis.circles.principal import network_components
from algophase.analysis.logits.all_pairs import correct_logits, grid_logits, largest_wrong_logits
from algophase.analysis.logits.metrics import distance_irrelevance
from algophase.analysis.moments import PAIRS, MomentDetails, _look, details_of_each, moment_details
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.settings import LinearSettings, TaskSettings
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.networks.linear import Linear


def details(network: Network) -> MomentDetails:
    return moment_details(network, analyze(network))


def test_without_their_companions_exactly_the_antipodal_pairs_of_pizzas_fail() -> None:
    pizza = handmade_pizza(60, (1, 7), accompanied=True)
    analysis = analyze(pizza)
    found = moment_details(pizza, analysis)
    assert (analysis.accuracy, found.accompanying) == (1.0, 2)
    companions = [item.circle for item in analysis.circles if item.role == "accompanying"]
    logits = grid_logits(pizza, without_circles(network_components(pizza), companions))
    margin = correct_logits(logits) - largest_wrong_logits(logits)
    # On antipodal pairs all logits are zero up to rounding, which decides a few of the ties.
    assert (
        (margin < 1e-12).nonzero().tolist()
        == antipodal_pairs(60, 1).tolist()
        == antipodal_pairs(60, 7).tolist()
    )
    assert found.accuracy_without_accompanying == 1 - len(failures(logits)) / 60**2
    assert 50 <= len(failures(logits)) <= 60


def test_a_clock_has_no_pizza_in_it_and_a_pizza_no_clock() -> None:
    clock, pizza = details(handmade_clock(59, (3, 8))), details(handmade_pizza(59, (3, 8)))
    assert [(pair.evidence.role, len(pair.evidence.circle.components)) for pair in clock.pairs] == [
        ("Clock", 2)
    ] * 2
    assert {pair.evidence.circle.frequency for pair in clock.pairs} == {3, 8}
    for pair in clock.pairs:
        assert pair.pizza_share == pytest.approx(0, abs=1e-9)
        assert pair.evidence.fve_clock == pytest.approx(1)
        assert math.isnan(pair.distance_irrelevance)  # its correct logits are all equal
    for pair in pizza.pairs:
        assert pair.pizza_share == pytest.approx(1, abs=1e-3)
        assert pair.distance_irrelevance == pytest.approx(0, abs=1e-9)
    assert clock.accompanying == pizza.accompanying == 0
    assert clock.accuracy_without_accompanying == pizza.accuracy_without_accompanying == 1.0


@pytest.mark.parametrize("index", range(len(networks())))
def test_pairs_are_isolated_as_everywhere_else(index: int) -> None:
    network = networks()[index].double()
    principal, found = network_components(network), details(network)
    assert 1 <= len(found.pairs) <= PAIRS
    for place, pair in enumerate(found.pairs):
        isolated = isolate_components(network, (2 * place + 1, 2 * place + 2), principal=principal)
        margin = correct_logits(isolated.logits) - largest_wrong_logits(isolated.logits)
        least, most = ((margin > line).double().mean().item() for line in (1e-9, -1e-9))
        assert least <= pair.evidence.accuracy_alone <= most  # rounding decides ties
        expected = distance_irrelevance(isolated.logits[..., : network.task.modulus])
        assert pair.distance_irrelevance == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_a_pair_that_is_no_circle_has_the_frequency_of_most_of_its_variance() -> None:
    network = handmade_clock(13, (2, 5))
    with torch.no_grad():  # a wave of frequency 5 much larger than all others, along one axis
        network.embed.weight[:, 2] *= 9
    principal = network_components(network)
    (first, _) = component_pairs(principal, 2)
    assert (first.frequency, first.components) == (5, (1, 2))
    assert component_pairs(principal, 1) == [first]
    assert len(component_pairs(principal, 9)) == 2


@pytest.mark.parametrize("method", ["components", "frequency"])
def test_circles_are_dropped_as_by_isolation(method: str) -> None:
    network = handmade_pizza(59, (3, 17), accompanied=True)
    if (
        method == "frequency"
    ):  # one axis of a companion grows beyond its Pizza: pairs no longer show circles
        with torch.no_grad():
            network.embed.weight[:, 2] *= 1.5
    analysis = analyze(network)
    dropped = [item.circle for item in analysis.circles if item.role == "accompanying"]
    assert any(circle.method == method for circle in dropped)
    expected = isolate_circles(network, dropped, drop=True)
    found = moment_details(network, analysis)
    assert found.accompanying == len(dropped)
    assert found.accuracy_without_accompanying == expected.accuracy


def test_an_embedding_without_pairs_has_none() -> None:
    network = Linear(TaskSettings(modulus=5), LinearSettings("alpha", 2, 3))
    for value in network.parameters():
        torch.nn.init.constant_(value, 0.5)
    found = details(network)
    expected = {
        "pairs": [],
        "accompanying": 0,
        "accuracy_without_accompanying": 0.0,
        "held_out_answers": None,
    }
    assert found.to_dict() == expected  # nothing is held out of a network that nobody trained


def test_records_are_plain_and_null_where_undefined() -> None:
    (pair,) = details(handmade_clock(11, (2,))).to_dict()["pairs"]
    assert pair["distance_irrelevance"] is None
    assert (pair["frequency"], pair["role"]) == (2, "Clock")
    assert set(pair) >= {
        "fve_clock",
        "fve_pizza",
        "pizza_share",
        "clock_weight",
        "pizza_weight",
        "explained",
        "accuracy_alone",
    }


@pytest.mark.parametrize("index", range(len(networks())))
def test_nothing_waits_for_the_device(index: int) -> None:
    subject = Subject(networks()[index], "meta")
    tables = [
        circle_alone(subject.components, pair)
        for pair in component_pairs(subject.components, PAIRS)
    ]
    with OneDevice():
        seen = _look(subject, [*tables, tables[0]], len(tables))
    assert len(seen) == len(tables) + 1
    assert {number.device.type for number in seen.values()} == {"meta"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
def test_a_gpu_gives_the_same_details() -> None:
    every = [*networks(), handmade_pizza(59, (3, 17), accompanied=True)]
    analyses = [one for one in analyze_many(every) if isinstance(one, Analysis)]
    there = details_of_each(zip(every, analyses, strict=True), "cuda")
    for found, network, analysis in zip(there, every, analyses, strict=True):
        expected = moment_details(network, analysis).to_dict()
        assert (
            found.to_dict()["accuracy_without_accompanying"]
            == expected["accuracy_without_accompanying"]
        )
        for one, other in zip(found.to_dict()["pairs"], expected["pairs"], strict=True):
            assert {name: value for name, value in one.items() if isinstance(value, str | int)} == {
                name: value for name, value in other.items() if isinstance(value, str | int)
            }
            assert one["explained"] == pytest.approx(other["explained"], abs=1e-7)
