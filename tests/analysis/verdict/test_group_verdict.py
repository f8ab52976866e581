"""Hand-made networks on groups are called what they are, with shares that are known."""

import numpy as np
import pytest
import torch

from algophase import Thresholds, analyze
from algophase.analysis.program.by_representation import OnGroup
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.group_verdict import form_of
from algophase.core.named_groups import named_group
from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks import Network
from algophase.networks.handmade_groups import adding_network, multiplying_network
from algophase.networks.handmade_rivals import lookup_network
from algophase.networks.mlp import MLP


def on_group(analysis: Analysis) -> OnGroup:
    assert analysis.on_group is not None
    return analysis.on_group


@pytest.mark.parametrize(
    ("name", "representations"),
    [
        ("S3", ["standard"]),
        ("S3", ["sign", "standard"]),
        ("D5", ["2.1", "2.2"]),
        ("D5", ["sign", "2.1"]),
        ("A5", ["3.1"]),
        ("A5", ["3.1", "standard"]),
    ],
)
def test_a_network_that_multiplies(name: str, representations: list[str]) -> None:
    """Its logits are characters, of equal size: each has the same share, and nothing is left
    without interactions.
    """
    analysis = analyze(multiplying_network(named_group(name), representations))
    found = on_group(analysis)
    assert analysis.label == "multiplying"
    assert analysis.sentence.startswith(f"{name} by multiplying: ")
    assert found.additivity == pytest.approx(1)
    assert found.shares.characters == pytest.approx(1)
    used = [name for instance in found.instances for name in instance.representations]
    assert sorted(used) == sorted(representations)
    for instance in found.instances:
        assert instance.share == pytest.approx(1 / len(representations))
        assert instance.kept == pytest.approx(1)
        assert instance.adding == pytest.approx(0, abs=1e-9)
        assert instance.interaction == pytest.approx(1)
        assert form_of(instance) == ("short cycle" if instance.short else "multiplies")


@pytest.mark.parametrize(
    ("name", "representations"),
    [("S3", ["standard"]), ("S3", ["sign", "standard"]), ("D5", ["sign", "2.1"]), ("A5", ["3.1"])],
)
def test_a_network_that_adds(name: str, representations: list[str]) -> None:
    """Its units read sums, so nothing is lost without interactions. Its logits are functions of
    x^-1 z y^-1, and not characters alone.
    """
    analysis = analyze(adding_network(named_group(name), representations))
    found = on_group(analysis)
    assert analysis.label == "adding"
    assert analysis.sentence.startswith(f"{name} by adding: ")
    assert found.additivity == pytest.approx(1)
    assert found.shares.bi_equivariant == pytest.approx(1)
    assert 0.95 < found.shares.characters < 0.999
    assert sum(instance.share for instance in found.instances) == pytest.approx(1)
    for instance in found.instances:
        assert instance.adding == pytest.approx(1)
        assert instance.interaction == pytest.approx(0, abs=1e-9)
        assert form_of(instance) == ("short cycle" if instance.short else "adds")


def test_embedding_shares_of_hand_made_tables() -> None:
    """The tables of two representations of a network that multiplies have D^3 numbers of mean
    square 1 / D each, so D^2.
    """
    found = on_group(analyze(multiplying_network(named_group("A5"), ["3.1", "standard"])))
    shares = {entry.name: entry.share for entry in found.embedding}
    assert shares["3.1"] == pytest.approx(9 / 25)
    assert shares["standard"] == pytest.approx(16 / 25)
    assert shares["5.1"] == pytest.approx(0)


@pytest.mark.parametrize("name", ["Z2xZ2", "S3", "Q8", "A4", "F20", "S4"])
def test_a_lookup_table_is_no_algorithm(name: str) -> None:
    """Of S3 and A4, all representations together are the network itself: no instance."""
    for seed in range(3):
        analysis = analyze(lookup_network(named_group(name), seed))
        assert (analysis.accuracy, analysis.label) == (1, "lookup")
        assert analysis.sentence == f"{name}: no algorithm found: a lookup table"
        lenient = analysis.decide(Thresholds(accuracy=0.5))
        assert lenient.label == "lookup"


def random_features(name: str, units: int) -> Network:
    """A table of all answers on fewer random features than there are pairs, by least squares: of
    S5, 3,000 for 14,400 pairs, which answer 99.4% of them.
    """
    group = named_group(name)
    n = group.order
    draw = np.random.default_rng(0)
    first, second = draw.standard_normal((2, n, units)).astype(np.float32)
    hidden = np.maximum(first[:, None] + second, 0).reshape(n * n, units)
    answers = np.eye(n, dtype=np.float32)[group.table.ravel()]
    products = hidden.T @ hidden + 1e-3 * n * n * np.eye(units, dtype=np.float32)
    written = np.linalg.solve(products, hidden.T @ answers)
    settings = MLPSettings(units, join="add", activation="relu", own_tables=True)
    network = MLP(TaskSettings(n, training_fraction=None), settings)
    with torch.no_grad():
        network.first.copy_(torch.from_numpy(first))
        network.second.copy_(torch.from_numpy(second))
        network.W_U.copy_(torch.from_numpy(written))
    return network


@pytest.mark.slow
def test_a_lookup_table_on_random_features_of_s5() -> None:
    analysis = analyze(random_features("S5", 3000))
    assert analysis.accuracy > 0.99
    assert "S5: no algorithm found: a lookup table" in analysis.sentence
    assert analysis.label in ("lookup", "not learned")
    assert on_group(analysis).additivity < 0.5


def test_a_network_on_random_features_that_knows_some_pairs_memorized() -> None:
    """Too few features for all pairs of S4: it knows some of them."""
    analysis = analyze(random_features("S4", 100), group="S4")
    assert 0.3 < analysis.accuracy < 0.95
    assert analysis.label == "not learned"
    assert analysis.sentence.startswith("S4: no algorithm found: it memorized (")


def test_a_function_has_no_instances() -> None:
    table = torch.from_numpy(named_group("S4").table)
    logits = 5 * torch.nn.functional.one_hot(table, 24).double()
    analysis = analyze(lambda a, b: logits[a, b], group="S4")
    assert analysis.label == "other"
    assert "without an embedding, instances cannot be isolated" in analysis.sentence
