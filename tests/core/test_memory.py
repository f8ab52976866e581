"""The memory budget: what it may be set to, what is refused, and that numbers do not depend on
it.
"""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.logits.metrics import gradient_symmetricity_exact, similarities_fit
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core import memory
from algophase.core.errors import InputError
from algophase.core.memory import (
    DEFAULT,
    VARIABLE,
    budget,
    joined,
    mean_over_rows,
    parse_size,
    slabs,
    slices,
)
from algophase.core.settings import (
    LinearSettings,
    MLPSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import MLP, Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("2 GB", 2_000_000_000),
        ("1.5gib", 3 * 2**29),
        (" 1000000 ", 1_000_000),
        ("10kB", 10_000),
        ("3b", 3),
    ],
)
def test_sizes_that_can_be_set(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert parse_size(text) == budget(CPU) == size


@pytest.mark.parametrize(
    "text", ["much", "1XB", "-1GB", "0", "0.1", "GB", "1e9", "1 G B", "nan", "9" * 30]
)
def test_a_bad_size_is_an_error_that_names_the_choices(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=rf"ALGOPHASE_MEMORY is '{text}'; .*500MB"):
        analyze(handmade_clock(7, (1,)))


@pytest.mark.parametrize("text", [None, "", "  "])
def test_without_a_size_it_is_a_gigabyte(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(VARIABLE, text)
    assert budget(CPU) == DEFAULT == 10**9


@pytest.mark.parametrize("workers", [1, 3])
def test_parts_are_joined_in_their_order(workers: int) -> None:
    numbers = torch.arange(23.0)

    def work(part: slice) -> list[Tensor]:
        return [numbers[part], numbers[part, None] * torch.arange(4.0)]

    once, twice = joined(work, slices(23, 5), "numbers", workers)
    assert torch.equal(once, numbers)
    assert torch.equal(twice, numbers[:, None] * torch.arange(4.0))
    (single,) = joined(lambda part: [numbers], slices(23, 23), "numbers")
    assert single is numbers


def test_what_does_not_fit_is_refused_before_it_is_allocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "1MB")
    many = 10**9

    def work(part: slice) -> list[Tensor]:
        return [torch.zeros(1, 10**3, dtype=torch.float64)]

    with pytest.raises(InputError, match=r"the numbers .*8000\.0 GB, .* 1 MB"):
        joined(work, [slice(0, 1), slice(1, many)], "the numbers")


@pytest.mark.parametrize("size", [1, 4, 9, 10])
def test_a_mean_over_slabs_is_the_mean(size: int) -> None:
    values = torch.rand(9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        mean_over_rows(lambda part: values[part], slices(9, size)), values.mean(dim=0)
    )


def test_slabs_are_a_tenth_of_the_budget_and_at_least_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "10000")
    assert slabs(7, 300, CPU) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert slabs(2, 10**9, CPU) == [slice(0, 1), slice(1, 2)]


def test_threads_are_limited_by_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    assert [memory.workers_that_fit(8, 100, kept, CPU) for kept in (0, 500, 950, 5000)] == [
        8,
        5,
        1,
        1,
    ]


def numbers_of(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_of(item, f"{name}.{key}")
    else:
        yield name, value


def one_hot(p: int, width: int) -> Network:
    """A one-hot MLP whose units are waves of three frequencies."""
    network = MLP(TaskSettings(modulus=p), MLPSettings(width=width, one_hot=True)).double()
    phases = (
        torch.rand(width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        * 2
        * math.pi
    )
    frequency = torch.tensor([1, 3, 5])[torch.arange(width) % 3]
    turns = torch.arange(p)[:, None] * frequency * (2 * math.pi / p)
    with torch.no_grad():
        network.first.copy_(torch.cos(turns + phases))
        network.W_U.copy_(torch.cos(turns + 2 * phases).T)
    return network


def untrained(p: int, settings: TransformerSettings | LinearSettings, **task: bool) -> Network:
    return initialize(RunSettings(TaskSettings(p, **task), settings, seed=3)).double()  # type: ignore[arg-type]


NETWORKS: dict[str, Network] = {
    "Pizza": handmade_pizza(23),
    "accompanied Pizza, even": handmade_pizza(22, (1, 5), accompanied=True),
    "Clock": handmade_clock(23),
    "one-hot MLP": one_hot(23, 48),
    "one layer": untrained(22, TransformerSettings(12, attention_rate=0.5)),
    "equals sign": untrained(13, TransformerSettings(8, attention_rate=1.0), equals_sign=True),
    "two layers": untrained(13, TransformerSettings(12, layers=2)),
    "beta": untrained(13, LinearSettings(model="beta")),
    "delta": untrained(13, LinearSettings(model="delta")),
}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_an_analysis_does_not_depend_on_the_budget(
    monkeypatch: pytest.MonkeyPatch, network: Network
) -> None:
    expected = analyze(network)
    exact = gradient_symmetricity_exact(network)
    logits = memory.FLOAT64 * network.task.modulus**3
    monkeypatch.setattr(memory, "KEPT_SHARE", 1.0)
    monkeypatch.setattr(memory, "SLAB_SHARE", 0.02)
    monkeypatch.setattr(memory, "UNITS_SHARE", 0.02)
    monkeypatch.setattr("algophase.analysis.subject.UNITS_SHARE", 0.02)
    monkeypatch.setattr("algophase.analysis.logits.metrics.SIMILARITIES_SHARE", 0.02)
    monkeypatch.setattr("algophase.analysis.logits.sums.require", lambda *given, **more: None)
    monkeypatch.setenv(VARIABLE, str(2 * logits))
    assert not similarities_fit(network)
    assert not Subject(network).units_at_once
    found = analyze(network)
    assert (found.label, found.sentence) == (expected.label, expected.sentence)
    assert found.paper_label == expected.paper_label
    assert gradient_symmetricity_exact(network) == pytest.approx(
        exact, rel=1e-9, abs=1e-12, nan_ok=True
    )
    before = dict(numbers_of(expected.to_dict()))
    after = dict(numbers_of(found.to_dict()))
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, float):
            assert after[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
        else:
            assert after[name] == value, name


def test_a_network_that_cannot_fit_is_refused_with_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = handmade_clock(1009, (1, 2))  # 8.2 GB of logits: any allocation of them would be seen
    message = (
        "network clock-p1009-k1-2: its logits would take 8.2 GB, and the memory budget is 1.0 GB"
    )
    refused, fine = analyze_many([large, handmade_clock(7, (1, 2, 3))])
    assert isinstance(refused, InputError)
    assert str(refused).startswith(message)
    assert "set ALGOPHASE_MEMORY=10958MB or more" in str(refused)
    assert isinstance(fine, Analysis)


def test_a_later_round_refuses_as_the_first_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """More embeddings side by side need more memory than the logits."""
    many = handmade_pizza(23, tuple(range(1, 12)))
    monkeypatch.setenv(VARIABLE, "1MB")
    (refused,) = analyze_many([many])
    assert isinstance(refused, InputError)
    assert "of its embeddings' parts would take" in str(refused)


PEAK = """
from network_bombs import peak_megabytes
from test_memory import one_hot
from algophase import analyze
analyze(one_hot(97, 1024))
print(peak_megabytes())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_peak_of_a_wide_one_hot_network_stays_below_a_gigabyte() -> None:
    """7.6 GB before results were copied to where they stay."""
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", PEAK], capture_output=True, text=True, env=environment, check=True
    )
    assert float(done.stdout) * 2**20 < 10**9
