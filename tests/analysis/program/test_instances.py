"""Instances are found, weighed and named; known networks have known ones."""

from pathlib import Path

import numpy as np
import pytest
import torch
from made_networks import EveryFrequency, mixture, parity_clock
from one_by_one import answer_of, found_in

import algophase
from algophase.analysis.circles.find import isolate_frequencies
from algophase.analysis.device import in_float64
from algophase.analysis.hidden.layers import additivity_by_layer
from algophase.analysis.program.instances import Instances
from algophase.analysis.verdict.decide import decide, form_of
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza


def members(found: Instances) -> list[tuple[int, ...]]:
    return [each.frequencies for each in found.instances]


def test_model_a_is_three_pizzas_with_companions(released: Path) -> None:
    found, measured = found_in(algophase.load(released / "model_p99zdpze5l.pt"))
    assert members(found) == [(17, 25), (3, 6), (15, 29)]
    assert found.additivity == pytest.approx(0.994, abs=0.001)
    assert sum(each.share for each in found.instances) + found.remainder == pytest.approx(1)
    answer = decide(measured)
    assert set(answer.forms) == {"Pizza with companion"}
    assert (answer.label, answer.sentence) == ("Pizza", "three Pizzas")
    assert found.instances[0].accuracy_alone == pytest.approx(0.331, abs=0.001)
    assert found.instances[0].accuracy_without == pytest.approx(0.873, abs=0.001)
    assert min(each.kept for each in found.instances) > 0.99


def test_model_b_is_two_clocks_and_a_pizza(released: Path) -> None:
    found, measured = found_in(algophase.load(released / "model_l8k1hzciux.pt"))
    assert members(found) == [(13,), (16,), (21, 17)]
    assert found.additivity == pytest.approx(0.998, abs=0.001)
    answer = decide(measured)
    assert answer.forms == ("Clock", "Clock", "Pizza with companion")
    assert (answer.label, answer.sentence) == ("Clock", "two Clocks and a Pizza (3.1%)")
    assert answer.pizza_share == pytest.approx(0.031, abs=0.001)


@pytest.mark.parametrize(
    ("name", "sentence"), [("p71frej8t7", "four Pizzas"), ("qlvxqhkvit", "seven Clocks")]
)
def test_released_linear_models(released: Path, name: str, sentence: str) -> None:
    assert answer_of(algophase.load(released / f"model_{name}.pt")).sentence == sentence


GALLERY = [
    ("fixed-width/networks/da98a6312948", "Clock", "two Clocks and a Pizza (9.8%)"),
    ("fixed-width/networks/5ed1f0b86c80", "Pizza", "three Pizzas"),
    ("exhibits/58582e25b90b", "Pizza", "four Pizzas"),
    ("separate-vocabularies/networks/6b10ba113d06", "Pizza", "two Pizzas"),
    ("linear-beta/networks/69fc2f5c6a20", "Pizza", "four Pizzas"),
    ("linear-delta/networks/6dd04500d56c", "Clock", "seven Clocks"),
    (
        "clock-training/networks/65ea9559a1f0.epoch200",
        "not learned",
        "99.25% accurate (26 of 3,481 pairs wrong); apart from these: two Pizzas",
    ),
    ("clock-training/networks/65ea9559a1f0.epoch600", "Pizza", "two Pizzas"),
    ("clock-training/networks/65ea9559a1f0", "Clock", "two Clocks"),
]


@pytest.mark.parametrize(("name", "label", "sentence"), GALLERY)
def test_gallery_networks(gallery: Path, name: str, label: str, sentence: str) -> None:
    found, measured = found_in(algophase.load(gallery.parent / f"{name}.safetensors"))
    answer = decide(measured)
    assert (answer.label, answer.sentence) == (label, sentence)
    assert found.additivity > 0.93
    assert len(answer.reasons) >= len(found.instances) + 1


def test_a_one_hot_network_of_another_group_uses_every_frequency(foreign: Path) -> None:
    answer = answer_of(in_float64(algophase.load(foreign / "onehot_mlp_p23.pth")))
    assert (answer.label, answer.sentence) == ("Pizza", "nine Pizzas (all frequencies in use)")
    assert answer.confidence.additivity == pytest.approx(0.878, abs=0.001)
    assert answer.confidence.named_share == pytest.approx(0.897, abs=0.001)


@pytest.mark.parametrize("share", [0.95, 0.7, 0.45])
def test_a_known_mixture_comes_back(share: float) -> None:
    found, measured = found_in(mixture(59, (1, 5), (17,), share))
    clocks = sum(each.share for each in found.instances if each.frequencies != (17,))
    assert clocks == pytest.approx(share, abs=0.005)
    assert found.additivity == pytest.approx(1, abs=1e-9)
    answer = decide(measured)
    assert answer.label == ("Clock" if share > 0.8 else "hybrid")
    assert answer.pizza_share == pytest.approx(1 - share, abs=0.005)


@pytest.mark.parametrize("p", [7, 8, 13, 15, 59])
def test_handmade_networks_at_prime_and_composite_moduli(p: int) -> None:
    k = (2,) if p == 15 else (1,)  # 5 would be p / 3, whose double is itself
    assert answer_of(handmade_clock(p, k)).sentence == "a Clock"
    found, measured = found_in(handmade_pizza(p, k, accompanied=True))
    assert found.instances[0].frequencies[0] == k[0]
    assert decide(measured).forms[0] == "Pizza with companion"
    if p % 2:
        assert answer_of(handmade_pizza(p, k)).forms == ("Pizza",)


@pytest.mark.parametrize("p", [4, 6, 12])
def test_frequency_half_of_p_is_an_instance(p: int) -> None:
    found, measured = found_in(parity_clock(p))
    assert {each.frequencies for each in found.instances} == {(1,), (p // 2,)}
    assert decide(measured).sentence == "a short cycle (67%) and a Clock (33%)"


@pytest.mark.parametrize("square", [False, True])
def test_every_frequency_at_once(square: bool) -> None:
    found, measured = found_in(EveryFrequency(23, square=square))
    assert len(found.instances) == 11
    assert found.additivity == pytest.approx(1, abs=1e-9)
    answer = decide(measured)
    assert (answer.label, answer.sentence) == ("Pizza", "eleven Pizzas (all frequencies in use)")


@pytest.mark.parametrize("p", [2, 3, 4])
def test_the_smallest_moduli_are_analyzed(p: int) -> None:
    for network in (handmade_clock(p), handmade_pizza(p, accompanied=True), EveryFrequency(p)):
        found, measured = found_in(network)
        assert np.isfinite(found.additivity)
        # On two or three points Clock and Pizza are the same.
        assert decide(measured).label in (
            ("Clock", "Pizza", "not learned") if p == 4 else ("other", "not learned")
        )


def test_an_embedding_without_any_difference_has_no_instance() -> None:
    network = handmade_pizza(7, (1,))
    torch.nn.init.ones_(network.embed.weight)
    found, measured = found_in(network)
    assert found.instances == ()
    assert (found.additivity, found.remainder) == (0, 1)
    assert decide(measured).label == "not learned"


def test_thresholds_decide_again_without_another_analysis() -> None:
    _, measured = found_in(mixture(59, (1, 5), (17,), 0.7))
    assert decide(measured).label == "hybrid"
    assert decide(measured, Thresholds(hybrid_share=0.4)).label == "Clock"
    assert decide(measured, Thresholds(program=1.0)).label == "other"
    answer = decide(measured, Thresholds(accuracy=1.0))
    assert answer.distances["hybrid_share"] == pytest.approx(0.1, abs=0.005)
    assert answer.confidence.nearest_line == "hybrid_share"
    with pytest.raises(InputError, match="additivity"):
        Thresholds(additivity=2.0)


def test_an_instance_that_does_something_else_in_the_network_has_no_form() -> None:
    found, _ = found_in(handmade_clock(13, (2,)))
    (instance,) = found.instances
    assert form_of(instance) == "Clock"
    assert form_of(instance, Thresholds(pizza_part=1.0, fit=1.0)) == "Clock"
    weak = type(instance)(**{**vars(instance), "energy": 2 * instance.energy})
    assert form_of(weak) == "other"


def test_layer_by_layer() -> None:
    one = in_float64(
        initialize(
            RunSettings(TaskSettings(modulus=11), TransformerSettings(width=16, layers=2), seed=1)
        )
    )
    every = [[k] for k in range(1, 6)]
    found = additivity_by_layer(one, every)
    assert [each.after_layers for each in found] == [0, 1, 2]
    # All frequencies in one group are the network itself, at every layer.
    for each in additivity_by_layer(one, [list(range(1, 6))]):
        assert each.additivity == pytest.approx(1, abs=1e-9)
        assert each.shares == pytest.approx((1,), abs=1e-9)
    with pytest.raises(InputError, match="has no layers"):
        additivity_by_layer(handmade_clock(7), every)


def test_before_the_first_layer_is_isolation_by_frequency() -> None:
    network = in_float64(
        initialize(
            RunSettings(TaskSettings(modulus=7), TransformerSettings(width=8, layers=2), seed=1)
        )
    )
    own = isolate_frequencies(network, [1, 2, 3]).logits
    alone = [isolate_frequencies(network, [k]).logits for k in (1, 2, 3)]
    x, *parts = (each - each.mean(dim=-1, keepdim=True) for each in (own, *alone))
    x, *parts = (each - each.mean(dim=(0, 1)) for each in (x, *parts))
    expected = 1 - (x - sum(parts)).square().sum() / x.square().sum()
    before, *_ = additivity_by_layer(network, [[1], [2], [3]])
    assert before.additivity == pytest.approx(expected.item(), abs=1e-9)
    assert before.shares == pytest.approx(
        [((x * each).sum() / x.square().sum()).item() for each in parts], abs=1e-9
    )
