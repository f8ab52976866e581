"""The local learning coefficient where it is known, and that engines are sampled as they should
be.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import call
from torch import Tensor

from algophase.analysis.hidden import learning_coefficient as module
from algophase.analysis.hidden._langevin import langevin, split_r_hat
from algophase.analysis.hidden.learning_coefficient import (
    Sampling,
    learning_coefficient,
    learning_coefficients,
)
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, answers, split, tokens
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock
from algophase.storage import save

NB = 200.0  # n times beta


def estimate(
    loss: Callable[[Tensor], Tensor],
    size: int,
    *,
    localization: float = 0.0,
    step: float = 1e-3,
    steps: int = 3000,
) -> float:
    """n beta E[L] of many chains from 0, where these losses are 0; the first third is left out."""
    points = torch.zeros(200, size, dtype=torch.float64)

    def both() -> tuple[Tensor, Tensor]:
        at = points.clone().requires_grad_()
        value = loss(at)
        (gradient,) = torch.autograd.grad(value.sum(), at)
        return value.detach(), gradient

    trace = langevin(points, both, pull=NB, localization=localization, step=step, steps=steps)
    return NB * float(trace[:, steps // 3 :].mean())


def test_a_bowl_has_half_its_dimension() -> None:
    """Exactly: with a = n beta + localization, a chain's variance is 1 / (a (1 - step a / 4))."""
    a, step = NB + 20.0, 1e-3
    exact = 6 / 2 * NB / (a * (1 - step * a / 4))
    found = estimate(lambda w: (w**2).sum(1) / 2, 6, localization=20.0, step=step, steps=900)
    assert abs(found - exact) < 0.05
    assert abs(exact - 3) < 0.2


def test_a_flat_direction_counts_nothing() -> None:
    found = estimate(lambda w: (w[:, :2] ** 2).sum(1) / 2, 4, localization=5.0, steps=900)
    assert abs(found - 1) < 0.08


def test_a_quartic_bowl_has_a_quarter_of_its_dimension() -> None:
    found = estimate(lambda w: (w**4).sum(1), 4, step=2e-3)
    assert abs(found - 1) < 0.08


def test_a_crossing_of_two_valleys_has_less_than_one_bowl() -> None:
    """L = (x y)^2 is singular: its coefficient is 1/2, where a bowl in two directions has 1. At a
    finite n it comes out lower, by the multiplicity 2 of the crossing. The integral over y is
    known, and the one over x is summed here."""
    localization = 3.0
    x = np.linspace(-5, 5, 100_001)
    inside = 2 * NB * x**2 + localization
    density = np.exp(-localization * x**2 / 2) / np.sqrt(inside)
    exact = float((density * NB * x**2 / inside).sum() / density.sum())
    found = estimate(lambda w: (w[:, 0] * w[:, 1]) ** 2, 2, localization=localization, steps=2000)
    assert 0.3 < exact < 0.5
    assert abs(found - exact) < 0.04


def test_r_hat_sees_drift_and_chains_apart() -> None:
    random = np.random.default_rng(0)
    draws = random.normal(size=(4, 500))
    assert split_r_hat(draws) < 1.02
    assert split_r_hat(draws + np.linspace(0, 3, 500)) > 1.1
    assert split_r_hat(draws + 2 * np.arange(4)[:, None]) > 1.1
    assert math.isnan(split_r_hat(draws[:, :3]))


def a_network(kind: str = "transformer", seed: int = 0, **task: bool) -> Network:
    settings = (
        TransformerSettings(6, attention_rate=0.5)
        if kind == "transformer"
        else LinearSettings("beta", 6, 6)
    )
    return initialize(RunSettings(TaskSettings(7, **task), settings, seed=seed))  # type: ignore[arg-type]


def training_loss(network: Network) -> float:
    assert network.run is not None
    chosen = split(network.task, network.run.seed).training
    logits = network(tokens(network.task, all_pairs(7)))[chosen].double()
    return float(
        torch.nn.functional.cross_entropy(logits, answers(network.task).flatten()[chosen]).detach()
    )


@pytest.mark.parametrize("engine", ["grid", "stacked", "plain"])
@pytest.mark.parametrize("kind", ["transformer", "linear"])
def test_chains_begin_at_the_networks(engine: str, kind: str) -> None:
    networks = [a_network(kind), a_network(kind, seed=3)]
    before = [value.clone() for value in networks[0].parameters()]
    found = learning_coefficients(
        networks, Sampling(2, 5, 10), engine=engine, device="cpu", precision="float64"
    )
    for each, network in zip(found, networks, strict=True):
        assert each.loss == pytest.approx(training_loss(network), rel=1e-6)
        assert each.trace[:, 0] == pytest.approx(each.loss)
        assert (each.id, each.samples, each.trace.shape) == (network.id, 39, (2, 15))
        assert each.beta == 1 / math.log(39)
        assert each.value == pytest.approx(39 * each.beta * (each.trace[:, 5:].mean() - each.loss))
        assert each.interval[0] <= each.value <= each.interval[1]
        assert (each.engine, each.precision) == (engine, "float64")
    assert not np.allclose(found[0].trace[0, 1:], found[0].trace[1, 1:])  # chains differ
    assert all(
        torch.equal(one, other) for one, other in zip(before, networks[0].parameters(), strict=True)
    )


def test_padding_does_not_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grid engine keeps 7 outputs in 16 columns: noise there would be outputs of its own."""
    kept = dict[str, Tensor]()

    def watched(points: Tensor, *arguments: object, free: Tensor, **options: object) -> np.ndarray:
        trace = langevin(points, *arguments, free=free, **options)  # type: ignore[arg-type]
        kept.update(points=points.clone(), free=free)
        return trace

    monkeypatch.setattr(module, "langevin", watched)
    network = a_network()
    learning_coefficient(
        network, Sampling(2, 0, 20, step=1e-2, localization=1.0), engine="grid", device="cpu"
    )
    parameters = sum(value.numel() for value in network.parameters())
    assert kept["free"].sum(dim=1).tolist() == [parameters, parameters]
    assert kept["free"].shape[1] > parameters
    assert (kept["points"][kept["free"] == 0] == 0).all()
    assert (kept["points"][kept["free"] == 1] != 0).all()


def test_the_same_call_gives_the_same_numbers() -> None:
    network, sampling = a_network(), Sampling(2, 5, 10)
    first, again = (learning_coefficient(network, sampling, device="cpu") for _ in range(2))
    other = learning_coefficient(network, Sampling(2, 5, 10, seed=1), device="cpu")
    assert np.array_equal(first.trace, again.trace)
    assert not np.array_equal(first.trace, other.trace)


def test_a_network_that_is_not_at_a_minimum_is_told() -> None:
    """An untrained network's loss falls as soon as it moves."""
    sampling = Sampling(2, 100, 100, step=1e-4, localization=0.0, inverse_temperature=10.0)
    found = learning_coefficient(a_network(), sampling, device="cpu")
    assert found.value < 0
    assert found.warnings[0].startswith("it is negative")
    assert str(found).startswith("no estimate: it is negative")
    assert (found.to_dict()["value"], found.to_dict()["trusted"]) == (None, False)
    assert found.beta == 10.0


def test_chains_that_leave_the_network_are_told() -> None:
    far = learning_coefficient(
        a_network(),
        Sampling(2, 200, 50, step=1e-3, localization=1.0, inverse_temperature=10.0),
        device="cpu",
    )
    assert far.distance > 1
    assert far.warnings[0].startswith("chains left the network: they end")
    hot = learning_coefficient(
        a_network(),
        Sampling(2, 50, 50, step=0.1, localization=1.0, inverse_temperature=1e-6),
        device="cpu",
    )
    assert hot.warnings[0].startswith("chains left the network: their loss is")
    assert hot.warnings[0].endswith("and that of guessing 1.95")


def test_drift_and_divergence_are_told() -> None:
    drifting = learning_coefficient(
        a_network(), Sampling(2, 0, 60, step=1e-4, localization=0.0), device="cpu"
    )
    assert any(text.startswith("R-hat") for text in drifting.warnings)
    diverged = learning_coefficient(
        a_network(), Sampling(2, 0, 40, step=1e9, localization=0.0), device="cpu"
    )
    assert diverged.warnings == ("a chain diverged: choose a smaller step",)
    json.dumps([drifting.to_dict(), diverged.to_dict()], allow_nan=False)
    assert diverged.to_dict()["value"] is None
    assert "trace" not in drifting.to_dict()


def test_networks_from_elsewhere_take_all_pairs() -> None:
    network = a_network()
    network.run = None
    with pytest.raises(InputError, match='pairs="all"'):
        learning_coefficient(network, Sampling(2, 0, 4), device="cpu")
    assert learning_coefficient(network, Sampling(2, 0, 4, pairs="all"), device="cpu").samples == 49
    with pytest.raises(InputError, match=r"kind clock\b.*transformer, linear"):
        learning_coefficient(handmade_clock(7))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chains": 1}, r"chains is 1\b.*2"),
        ({"draws": 3}, r"draws is 3\b.*4"),
        ({"burn_in": -1}, "burn_in is -1"),
        ({"step": 0.0}, r"step is 0\.0\b.*\(0, inf\)"),
        ({"localization": math.nan}, "localization is nan"),
        (
            {"step": 0.01},
            r"localization is 1000\b.*400.*step 0\.01",
        ),
        ({"inverse_temperature": 0.0}, "inverse_temperature is 0.0"),
        ({"pairs": "some"}, "pairs is 'some'.*training, all"),
    ],
)
def test_unusable_settings_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**options)  # type: ignore[arg-type]


def test_the_command_estimates_and_draws(tmp_path: Path) -> None:
    path = save(a_network(), tmp_path / "network.safetensors")
    options = ("--chains", 2, "--burn-in", 5, "--draws", 10, "--device", "cpu")
    done = call(
        "llc", tmp_path / "network.safetensors", *options, "--figure", tmp_path / "trace.png"
    )
    assert done.returncode == 0, done.stderr
    assert "n = 39 pairs, beta = 0.2730, step" in done.stdout
    assert (tmp_path / "trace.png").read_bytes()[:4] == b"\x89PNG"
    (record,) = json.loads(call("llc", tmp_path / "network.safetensors", *options, "--json").stdout)
    assert record["sampling"]["chains"] == 2
    assert len(record["by_chain"]) == 2
    assert path is None or Path(path).exists()
