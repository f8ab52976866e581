"""The metrics against their definitions written out as loops, and the invariances the
definitions promise.
"""

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from algophase.analysis.circles.formulas import clock_logits, pizza_logits
from algophase.analysis.circles.principal import network_components, principal_components
from algophase.analysis.logits import metrics
from algophase.analysis.logits.all_pairs import correct_logits, grid_logits, largest_wrong_logits
from algophase.analysis.logits.metrics import (
    circularity,
    distance_irrelevance,
    distance_irrelevance_wrong_logit,
    gradient_similarities,
    gradient_symmetricity,
    gradient_symmetricity_exact,
    paper_triples,
    similarity,
    symmetricity_without_equals_sign,
)
from algophase.core import memory
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.threads import one_thread
from algophase.networks import Linear, Network, Transformer, build, initialize

SMALL: list[tuple[TaskSettings, NetworkSettings]] = [
    (TaskSettings(modulus=7), TransformerSettings(width=9, attention_rate=0.6)),
    (TaskSettings(modulus=6), TransformerSettings(width=8, layers=2, activation="gelu")),
    (TaskSettings(modulus=5, separate_vocabularies=True), TransformerSettings(width=8)),
    (
        TaskSettings(modulus=5, equals_sign=True),
        TransformerSettings(width=8, layers=2, attention_rate=0.4),
    ),
    (
        TaskSettings(modulus=5, separate_vocabularies=True, equals_sign=True),
        TransformerSettings(width=8),
    ),
    (TaskSettings(modulus=7), LinearSettings(model="alpha", width=6, hidden=8)),
    (TaskSettings(modulus=7), LinearSettings(model="beta", width=6, hidden=8)),
    (TaskSettings(modulus=7), LinearSettings(model="gamma", width=6, hidden=8)),
    (TaskSettings(modulus=7), LinearSettings(model="delta", width=6, hidden=8)),
    (TaskSettings(modulus=7), LinearSettings(model="alpha-prime", width=6, hidden=8)),
]


def network_for(task: TaskSettings, settings: NetworkSettings, seed: int = 0) -> Network:
    return initialize(RunSettings(task=task, network=settings, seed=seed)).double()


def slow_symmetricity(network: Network, triples: list[tuple[int, int, int]]) -> float:
    """The definition: one triple, one backward pass."""
    first, second = network.operand_tables()
    total = 0.0
    for a, b, c in triples:
        x, y = (
            first[a : a + 1].detach().requires_grad_(),
            second[b : b + 1].detach().requires_grad_(),
        )
        network.logits_from_embeddings(x, y)[0, c].backward()
        assert x.grad is not None
        assert y.grad is not None
        u, v = x.grad[0], y.grad[0]
        total += (u @ v / (u.norm() * v.norm())).item()
    return total / len(triples)


@pytest.mark.parametrize(("task", "settings"), SMALL)
def test_symmetricity_is_its_definition(
    task: TaskSettings, settings: NetworkSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, p = network_for(task, settings), task.modulus
    every = [(a, b, c) for a in range(p) for b in range(p) for c in range(p)]
    expected = slow_symmetricity(network, every)
    assert gradient_symmetricity_exact(network) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(memory, "CHUNK_ELEMENTS", 1)  # one pair at a time
    assert gradient_symmetricity_exact(network) == pytest.approx(expected, abs=1e-12)
    random.Random(42).shuffle(every)
    assert gradient_symmetricity(network) == pytest.approx(
        slow_symmetricity(network, every[:100]), abs=1e-12
    )


@pytest.mark.parametrize("layers", [1, 2])
def test_symmetricity_without_the_equals_sign_is_that_of_two_positions(layers: int) -> None:
    network = network_for(
        TaskSettings(modulus=5, equals_sign=True), TransformerSettings(width=8, layers=layers)
    )
    assert isinstance(network, Transformer)
    total, triples = 0.0, paper_triples(5)
    for a, b, c in triples.tolist():
        embedded = network.embed.W_E[[a, b]].detach().requires_grad_()
        residual = (embedded + network.pos_embed.W_pos[:2])[None]
        for block in network.blocks:
            residual = block(residual, None, "")
        (residual[0, -1] @ network.unembed.W_U)[c].backward()
        assert embedded.grad is not None
        u, v = embedded.grad
        total += (u @ v / (u.norm() * v.norm())).item()
    assert symmetricity_without_equals_sign(network).item() == pytest.approx(
        total / len(triples), abs=1e-12
    )
    assert network.task.equals_sign  # as it was
    assert symmetricity_without_equals_sign(network_for(*SMALL[0])).isnan()


def test_the_papers_triples() -> None:
    every = [(a, b, c) for a in range(59) for b in range(59) for c in range(59)]
    random.Random(42).shuffle(every)
    assert paper_triples(59).tolist() == [list(triple) for triple in every[:100]]
    assert len(paper_triples(3)) == 27  # fewer triples than a hundred: all of them


def test_a_dead_network_has_no_symmetricity() -> None:
    network = build(
        TaskSettings(modulus=5), LinearSettings(model="alpha", width=4, hidden=4)
    ).double()
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    assert math.isnan(gradient_symmetricity_exact(network))
    assert math.isnan(gradient_symmetricity(network))
    assert math.isnan(circularity(network_components(network)))


def slow_irrelevance(matrix: torch.Tensor) -> float:
    p = len(matrix)

    def std(values: list[float]) -> float:
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    rows = [std([matrix[i, (i + d) % p].item() for i in range(p)]) for d in range(p)]
    return sum(rows) / p / std(matrix.flatten().tolist())


cubes = st.builds(
    lambda p, seed: torch.randn(
        p, p, p, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    ),
    st.integers(2, 10),
    st.integers(0, 10_000),
)


@given(cubes)
def test_distance_irrelevance_is_its_definition_and_in_range(logits: torch.Tensor) -> None:
    assert distance_irrelevance(logits) == pytest.approx(slow_irrelevance(correct_logits(logits)))
    assert distance_irrelevance_wrong_logit(logits) == pytest.approx(
        slow_irrelevance(largest_wrong_logits(logits))
    )
    assert 0 <= distance_irrelevance(logits) <= 1
    assert 0 <= distance_irrelevance_wrong_logit(logits) <= 1


@given(st.integers(3, 20), st.data())
def test_a_pizza_is_all_distance_and_a_clock_none(p: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, p - 1))
    assert math.isnan(distance_irrelevance(clock_logits(p, k)))
    q = distance_irrelevance(pizza_logits(p, k))
    assert math.isnan(q) or q == pytest.approx(0, abs=1e-7)


def relabeled(network: Linear, factor: int) -> Linear:
    """The same network after renaming every number t to factor * t, inputs and answers alike."""
    p = network.task.modulus
    names = torch.arange(p) * factor % p
    other = build(network.task, network.settings).double()
    other.load_state_dict(network.state_dict())
    assert isinstance(other, Linear)
    with torch.no_grad():
        other.embed.weight.copy_(network.embed.weight[names])
        other.unembed.weight.copy_(network.unembed.weight[names])
    return other


def rotated(network: Linear, seed: int) -> Linear:
    """The same function in another basis of the embedding space."""
    width = network.embed.weight.shape[1]
    rotation = torch.linalg.qr(
        torch.randn(
            width, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        )
    ).Q
    other = build(network.task, network.settings).double()
    other.load_state_dict(network.state_dict())
    assert isinstance(other, Linear)
    with torch.no_grad():
        other.embed.weight.copy_(network.embed.weight @ rotation)
        halves = (
            network.l1.weight.unflatten(1, (-1, width)) @ rotation
        )  # delta reads two embeddings
        other.l1.weight.copy_(halves.flatten(1))
    return other


def all_metrics(network: Network) -> list[float]:
    logits = grid_logits(network)
    return [
        distance_irrelevance(logits),
        distance_irrelevance_wrong_logit(logits),
        gradient_symmetricity_exact(network),
        circularity(network_components(network)),
    ]


@settings(max_examples=15)
@given(
    st.sampled_from([5, 7, 11]),
    st.sampled_from(["alpha", "beta", "gamma", "delta"]),
    st.integers(0, 100),
    st.data(),
)
def test_metrics_do_not_change_under_relabeling_or_rotation(
    p: int, model: str, seed: int, data: st.DataObject
) -> None:
    network = network_for(
        TaskSettings(modulus=p), LinearSettings(model=model, width=12, hidden=8), seed
    )
    assert isinstance(network, Linear)
    expected = all_metrics(network)
    factor = data.draw(st.integers(1, p - 1))
    assert all_metrics(relabeled(network, factor)) == pytest.approx(expected, abs=1e-9)
    assert all_metrics(rotated(network, seed)) == pytest.approx(expected, abs=1e-9)
    assert -1 <= expected[2] <= 1
    assert 0 <= expected[3] <= 1


@given(st.integers(5, 30), st.integers(1, 12), st.integers(0, 1000))
def test_circularity_is_its_definition_and_in_range(p: int, width: int, seed: int) -> None:
    table = torch.randn(
        p, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    components = principal_components((table,))
    value = circularity(components)
    assert 0 <= value <= 1 + 1e-12
    tokens = torch.arange(p).double()
    shares = []
    for component in components.coordinates[0].T[:4]:
        powers = []
        for k in range(1, p):
            wave = torch.exp(2j * math.pi * k * tokens / p)
            power = (component * wave).sum().abs() ** 2 / (p * (component**2).sum())
            powers.append(
                (power if 2 * k == p else 2 * power).item()
            )  # at k = p/2 there is one wave, not two
        shares.append(max(powers))
    assert value == pytest.approx(sum(shares) / len(shares))


@pytest.mark.parametrize("p", [7, 12, 59, 60])
def test_waves_have_circularity_one(p: int) -> None:
    tokens = torch.arange(p).double()
    waves = [f(2 * math.pi * k * tokens / p) * k for k in (1, 2) for f in (torch.cos, torch.sin)]
    assert circularity(principal_components((torch.stack(waves, dim=1),))) == pytest.approx(1)


def test_similarities_do_not_depend_on_the_number_of_threads(
    two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "CACHED_ELEMENTS", 50_000)  # several chunks
    network = initialize(RunSettings(TaskSettings(13), TransformerSettings(width=16)))
    found = gradient_similarities(network)
    with one_thread():
        assert torch.equal(gradient_similarities(network), found)


def test_a_vanishing_gradient_has_no_direction() -> None:
    there, nothing = torch.tensor([3.0, 4.0]), torch.zeros(2)
    found = similarity(
        torch.stack([there, there, nothing, nothing]),
        torch.stack([there, nothing, -there, nothing]),
    )
    assert found[:3].tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert found[3].isnan()
