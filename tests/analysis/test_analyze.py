import inspect
import json
import math
from collections.abc import Iterator

import pytest
import torch

from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.catalogue import metrics
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.threads import one_thread
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza

REQUIRED = [
    "id",
    "accuracy",
    "distance_irrelevance",
    "distance_irrelevance_wrong_logit",
    "gradient_symmetricity",
    "gradient_symmetricity_exact",
    "circularity",
    "verdict",
    "reasons",
    "circles",
]
REQUIRED_OF_A_CIRCLE = [
    "frequency",
    "components",
    "variance_share",
    "accompanies",
    "fve_clock",
    "fve_pizza",
    "fve_accompanying",
    "accuracy_alone",
]


@pytest.mark.parametrize(("p", "frequencies"), [(59, (1, 5, 17)), (60, (1, 7, 11)), (31, (4,))])
def test_handmade_networks_end_to_end(p: int, frequencies: tuple[int, ...]) -> None:
    clock = analyze(handmade_clock(p, frequencies))
    assert clock.verdict.label == "Clock"
    assert clock.gradient_symmetricity_exact == pytest.approx(0, abs=1e-12)
    pizza = analyze(handmade_pizza(p, frequencies, accompanied=True))
    assert pizza.verdict.label == "Pizza"
    assert pizza.gradient_symmetricity_exact == pytest.approx(1)
    assert pizza.distance_irrelevance == pytest.approx(0, abs=1e-9)
    assert {item.circle.frequency for item in clock.circles} == set(frequencies)
    for analysis in (clock, pizza):
        assert analysis.circularity == pytest.approx(1)
        assert {item.accompanies for item in pizza.circles} == {None, *frequencies}


def test_p_113() -> None:
    assert analyze(handmade_clock(113, (1, 30))).verdict.label == "Clock"


def test_a_network_stored_in_float32_gets_the_same_verdict() -> None:
    assert analyze(handmade_clock().float()).verdict.label == "Clock"
    assert math.isnan(analyze(handmade_clock().float()).distance_irrelevance)
    assert analyze(handmade_pizza().float()).verdict.label == "Pizza"


UNTRAINED: list[tuple[TaskSettings, NetworkSettings]] = [
    (TaskSettings(modulus=11), TransformerSettings(width=10, layers=4, attention_rate=0.3)),
    (TaskSettings(modulus=11), TransformerSettings(width=14, activation="gelu")),
    (TaskSettings(modulus=10, separate_vocabularies=True), TransformerSettings(width=12)),
    (TaskSettings(modulus=11, equals_sign=True), TransformerSettings(width=12)),
    (
        TaskSettings(modulus=11, separate_vocabularies=True, equals_sign=True),
        TransformerSettings(width=13),
    ),
    (TaskSettings(modulus=11), LinearSettings(model="alpha-prime", width=12, hidden=10)),
    (TaskSettings(modulus=2), LinearSettings(model="delta", width=12, hidden=10)),
    (TaskSettings(modulus=3), TransformerSettings(width=4)),
]


@pytest.mark.parametrize(("task", "settings"), UNTRAINED)
def test_untrained_networks_of_every_kind_are_not_learned(
    task: TaskSettings, settings: NetworkSettings
) -> None:
    analysis = analyze(initialize(RunSettings(task=task, network=settings)))
    assert analysis.verdict.label == "not learned"
    separate = task.separate_vocabularies or settings == LinearSettings(
        model="alpha-prime", width=12, hidden=10
    )
    assert math.isnan(analysis.circularity) == separate
    assert len(analysis.operand_circularity) == (2 if separate else 1)
    assert "not learned" in str(analysis)
    assert math.isnan(analysis.gradient_symmetricity_without_equals_sign) != task.equals_sign
    assert ("without the equals sign" in str(analysis)) == task.equals_sign


def test_record_is_valid_json_with_every_promised_name() -> None:
    record = analyze(handmade_clock()).to_dict()
    assert set(REQUIRED) <= record.keys()
    assert all(set(REQUIRED_OF_A_CIRCLE) <= circle.keys() for circle in record["circles"])
    assert record["distance_irrelevance"] is None  # undefined, and NaN is not JSON
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_analysis_leaves_the_network_alone() -> None:
    network = initialize(
        RunSettings(task=TaskSettings(modulus=7), network=TransformerSettings(width=8))
    )
    before = {name: value.clone() for name, value in network.state_dict().items()}
    analyze(network)
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
        assert value.dtype == torch.float32
    assert all(
        parameter.grad is None and parameter.requires_grad for parameter in network.parameters()
    )


def test_finite_parameters_whose_sum_overflows_are_finite() -> None:
    network = handmade_pizza(7, (1,))
    with torch.no_grad():
        network.l1.weight.fill_(torch.finfo(network.l1.weight.dtype).max)
        network.check_finite()
        network.l1.weight[0, 0] = math.inf
    with pytest.raises(InputError, match=r"parameter l1\.weight holds 1 values"):
        network.check_finite()


def test_networks_with_nan_or_overflow_are_refused() -> None:
    network = handmade_pizza(7, (1,))
    with torch.no_grad():
        network.l1.weight[0, 0] = math.nan
    with pytest.raises(InputError, match=r"pizza-p7-k1: parameter l1\.weight holds 1 values"):
        analyze(network)
    network = handmade_pizza(7, (1,))
    with torch.no_grad():
        network.l1.weight.mul_(1e200)
        network.unembed.weight.mul_(1e200)
    with pytest.raises(InputError, match=r"logits are not finite: .*, the largest is 1e\+200"):
        analyze(network)


def test_many_networks_are_analyzed_as_each_alone() -> None:
    networks = [
        handmade_pizza(12, (1, 5), accompanied=True),
        *(initialize(RunSettings(task=task, network=settings)) for task, settings in UNTRAINED),
        handmade_clock(7, (1, 2)).float(),
    ]
    reports: list[Progress] = []
    # With AVX-512, MKL's sums depend on the number of threads, and side by side each has one.
    with one_thread():
        results = analyze_many(networks, Thresholds(accuracy=0.0), progress=reports.append)
        alone = [analyze(network, Thresholds(accuracy=0.0)) for network in networks]
    assert [report.done for report in reports] == list(range(1, len(networks) + 1))
    assert reports[-1].share == 1
    for result, expected in zip(results, alone, strict=True):
        assert isinstance(result, Analysis)
        assert result.to_dict() == expected.to_dict()
    assert analyze_many([]) == []


def test_networks_side_by_side_have_the_bits_of_each_alone() -> None:
    """Alone on one thread, that is: with AVX-512 or AVX2 asked for, MKL sums otherwise on two.
    Whether a network is lent a thread of its own or waits for its turn makes no difference.
    """
    good = initialize(RunSettings(task=TaskSettings(modulus=11), network=LinearSettings("delta")))
    with_nan = handmade_clock(11, (1,))
    with_nan.embed.weight.data[0, 0] = torch.nan
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            alone = analyze(good)
        results = analyze_many([good, handmade_clock(7), with_nan, good])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    first, clock, refused, last = results
    assert isinstance(refused, InputError)
    assert isinstance(clock, Analysis)
    assert clock.verdict.label == "Clock"
    for result in (first, last):
        assert isinstance(result, Analysis)
        assert result.to_dict() == alone.to_dict()


def test_an_iterator_may_give_one_network_in_several_states() -> None:
    settings = LinearSettings("beta", width=8, hidden=8)
    starts = [initialize(RunSettings(TaskSettings(7), settings, seed=seed)) for seed in range(3)]
    network = initialize(RunSettings(TaskSettings(7), settings))

    def along() -> Iterator[Network]:
        for start in starts:
            network.load_state_dict(start.state_dict())
            yield network

    for result, start in zip(analyze_many(along()), starts, strict=True):
        assert isinstance(result, Analysis)
        assert result.metrics["circularity"] == analyze(start).metrics["circularity"]


def test_a_network_that_cannot_be_analyzed_is_named_and_the_others_are_analyzed() -> None:
    with_nan, overflowing, huge = (handmade_pizza(7, (k,)) for k in (1, 2, 3))
    with torch.no_grad():
        with_nan.unembed.weight[0, 0] = math.nan
        overflowing.unembed.weight.mul_(1e200)
        overflowing.l1.weight.mul_(1e200)
        huge.embed.weight.mul_(1e160)
    good = handmade_clock(7, (1, 2))
    results = analyze_many([good, with_nan, overflowing, good, huge, good])
    for index in (0, 3, 5):
        analysis = results[index]
        assert isinstance(analysis, Analysis)
        assert analysis.verdict.label == "Clock"
    errors = {index: str(results[index]) for index in (1, 2, 4)}
    assert all(isinstance(results[index], InputError) for index in errors)
    assert "pizza-p7-k1: parameter unembed.weight holds 1 values" in errors[1]
    assert "pizza-p7-k2: its logits are not finite: of those of 49 pairs, 49 hold" in errors[2]
    assert "pizza-p7-k3: the largest number of its embedding is" in errors[4]


def test_thresholds_can_be_loosened() -> None:
    even = handmade_pizza(12, (1, 5))  # wrong on the antipodal pairs
    assert analyze(even).verdict.label == "not learned"
    assert analyze(even, Thresholds(accuracy=0.9)).verdict.label == "Pizza"


def test_what_can_be_said_and_read_is_discoverable() -> None:
    """Arguments for modules have names and types; metrics are offered by `dir`."""
    parameters = inspect.signature(analyze).parameters
    assert {"modulus", "operation", "embedding", "tokens", "answer", "outputs"} <= parameters.keys()
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values())
    assert all(parameter.annotation is not parameter.empty for parameter in parameters.values())
    analysis = analyze(handmade_clock(7, (1, 2)))
    assert {"circularity", "accuracy", "gradient_symmetricity", "verdict", "plot"} <= set(
        dir(analysis)
    )
    assert {quantity.name for quantity in metrics()} <= set(dir(analysis))
