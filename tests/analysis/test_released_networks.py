"""Every figure of the facts table on the four released networks."""

from pathlib import Path

import pytest

from algophase.analysis.analyze import analyze
from algophase.analysis.circles.find import isolate_components
from algophase.analysis.device import in_float64
from algophase.analysis.result import Analysis
from algophase.networks import Network
from algophase.storage import load

MODEL_A, MODEL_B, MODEL_BETA, MODEL_DELTA = "p99zdpze5l", "l8k1hzciux", "p71frej8t7", "qlvxqhkvit"


@pytest.fixture(scope="module")
def networks(released: Path) -> dict[str, Network]:
    return {
        name: load(released / f"model_{name}.pt")
        for name in (MODEL_A, MODEL_B, MODEL_BETA, MODEL_DELTA)
    }


@pytest.fixture(scope="module")
def analyses(networks: dict[str, Network]) -> dict[str, Analysis]:
    return {name: analyze(network) for name, network in networks.items()}


@pytest.mark.parametrize(
    ("name", "irrelevance", "symmetricity", "exact", "circularity", "verdict"),
    [
        (MODEL_A, 0.1717, 0.9937, 0.9938, 0.9978, "Pizza"),
        (MODEL_B, 0.8483, 0.3336, 0.3461, 0.9989, "Clock"),
        (MODEL_BETA, 0.2302, 1.0000, 1.0000, 0.9950, "Pizza"),
        (MODEL_DELTA, 0.9295, 0.0191, 0.0003, 0.9977, "Clock"),
    ],
)
def test_metrics_and_verdict(
    analyses: dict[str, Analysis],
    name: str,
    irrelevance: float,
    symmetricity: float,
    exact: float,
    circularity: float,
    verdict: str,
) -> None:
    analysis = analyses[name]
    assert analysis.id == name
    assert analysis.accuracy == 1
    assert analysis.distance_irrelevance == pytest.approx(irrelevance, abs=5e-4)
    assert analysis.gradient_symmetricity == pytest.approx(symmetricity, abs=5e-4)
    assert analysis.gradient_symmetricity_exact == pytest.approx(exact, abs=5e-4)
    assert analysis.circularity == pytest.approx(circularity, abs=5e-4)
    assert analysis.verdict.label == analysis.paper_label == verdict
    assert analysis.paper.metrics_agree


def test_circles_of_model_a(analyses: dict[str, Analysis]) -> None:
    found = analyses[MODEL_A].circles
    assert [item.circle.frequency for item in found] == [17, 3, 15, 25, 6, 29]
    assert [item.circle.components for item in found] == [
        (1, 2),
        (3, 4),
        (5, 6),
        (7, 8),
        (9, 10),
        (11, 12),
    ]
    assert [item.accompanies for item in found] == [None, None, None, 17, 3, 15]
    assert [100 * item.fve_clock for item in found[:3]] == pytest.approx(
        [75.41, 75.62, 75.38], abs=0.01
    )
    assert [100 * item.fve_pizza for item in found[:3]] == pytest.approx(
        [99.18, 99.18, 99.28], abs=0.01
    )
    assert [100 * item.fve_accompanying for item in found[3:]] == pytest.approx(
        [97.56, 97.23, 97.69], abs=0.01
    )
    assert [100 * item.accuracy_alone for item in found[:2]] == pytest.approx([34.8, 32.8], abs=0.1)


def test_isolation_of_model_a_and_b(networks: dict[str, Network]) -> None:
    a, b = in_float64(networks[MODEL_A]), in_float64(networks[MODEL_B])
    accompanying = range(7, 13)
    assert 100 * isolate_components(a, range(1, 7)).accuracy == pytest.approx(99.7, abs=0.1)
    assert 100 * isolate_components(a, accompanying).accuracy == pytest.approx(16.7, abs=0.1)
    assert isolate_components(a, range(1, 13)).accuracy == 1
    assert 100 * isolate_components(a, accompanying, drop=True).accuracy == pytest.approx(
        99.7, abs=0.1
    )
    assert isolate_components(b, range(1, 7)).accuracy == 1


def test_model_b_is_a_clock_with_a_trace_of_pizza(analyses: dict[str, Analysis]) -> None:
    """Not in the paper: its third circle and that one's companion follow the Pizza."""
    roles = {
        item.circle.frequency: (item.role, item.accompanies) for item in analyses[MODEL_B].circles
    }
    assert roles == {
        13: ("Clock", None),
        16: ("Clock", None),
        21: ("Pizza", None),
        17: ("accompanying", 21),
    }
    share = analyses[MODEL_B].paper.pizza_share
    assert share is not None
    assert 0 < share < 0.1


def test_anatomy_of_model_beta(analyses: dict[str, Analysis]) -> None:
    opened = analyses[MODEL_BETA].anatomy
    assert opened is not None
    relu = opened.second_relu
    assert relu is not None
    assert relu.accuracy_without == 1
    assert f"{relu.cross_entropy:.2e}" == "6.20e-07"
    assert f"{relu.cross_entropy_without:.2e}" == "5.89e-07"
    first = opened.pizzas[0]
    assert (first.embedding_components, first.unembedding_components) == ((1, 2), (1, 2))
    assert len(first.rows) == 44
    readout = first.readouts[0]
    assert readout.phase == pytest.approx(2.0, abs=0.05)
    assert readout.amplitude == pytest.approx(8, abs=0.5)  # the paper rounds to 8; we measure 7.6
    assert readout.variance_explained > 0.999
    assert opened.exclusive_share > 0.95
    assert opened.same_pizza_share > 0.95


def test_only_sums_of_embeddings_have_an_anatomy(analyses: dict[str, Analysis]) -> None:
    assert [
        analyses[name].anatomy is None for name in (MODEL_A, MODEL_B, MODEL_BETA, MODEL_DELTA)
    ] == [True, True, False, True]
