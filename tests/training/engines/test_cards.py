"""Which tiles the fused kernels take on a card, and which engine trains where they do not fit."""

import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.training.engines import _in_half
from algophase.training.engines.cards import Card, card_of, fitted
from algophase.training.run.plan import PlannedEnsemble, choose_way, describe

CPU, GPU = torch.device("cpu"), torch.device("cuda")
H200, A100 = Card((9, 0), 227), Card((8, 0), 163)
RTX_4090, B200, T4 = Card((8, 9), 99), Card((10, 0), 227), Card((7, 5), 64)
SMALL = Card((8, 9), 98)  # no such card is known
ONE_LAYER = RunSettings(TaskSettings(), TransformerSettings())
TWO_LAYERS = RunSettings(TaskSettings(), TransformerSettings(128, 2))
WIDE_LAYERS = RunSettings(TaskSettings(), TransformerSettings(256, 2))
ONE_HEAD = RunSettings(TaskSettings(113), TransformerSettings(256, 2, heads=1))
LINEAR = RunSettings(TaskSettings(), LinearSettings("beta"))


def test_only_a_hopper_card_with_all_its_memory_has_the_tuned_tiles() -> None:
    sizes = {"ROWS": 64, "STAGES": 3, "num_warps": 4}
    assert fitted(H200, "by_units", sizes) == sizes
    for card in (A100, RTX_4090, B200, H200._replace(shared_memory=99)):
        smaller = {"ROWS": 16, "STAGES": 2, "num_warps": 4}
        assert fitted(card, "by_units", sizes) == smaller
    assert fitted(RTX_4090, "mix", sizes) == sizes


def test_a_smaller_memory_can_be_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert card_of(CPU) == H200
    monkeypatch.setenv("ALGOPHASE_SHARED_MEMORY_KB", "99")
    assert card_of(CPU) == Card((9, 0), 99)
    monkeypatch.setenv("ALGOPHASE_SHARED_MEMORY_KB", "500")  # no card grows by it
    assert card_of(CPU) == H200
    monkeypatch.setenv("ALGOPHASE_SHARED_MEMORY_KB", "much")
    with pytest.raises(InputError, match="ALGOPHASE_SHARED_MEMORY_KB is 'much'; it must be"):
        card_of(CPU)


@pytest.mark.parametrize(
    ("card", "run", "engine", "reason"),
    [
        (H200, WIDE_LAYERS, "fused", ""),
        (B200, WIDE_LAYERS, "fused", ""),
        (RTX_4090, ONE_LAYER, "fused", ""),
        (RTX_4090, TWO_LAYERS, "fused", ""),
        (A100, WIDE_LAYERS, "fused", ""),
        (RTX_4090, WIDE_LAYERS, "fused", ""),
        (H200, ONE_HEAD, "stacked", "it takes heads of at most 128 channels, not 256"),
        (SMALL, ONE_LAYER, "stacked", "it needs 99 KB of shared memory per program"),
        (SMALL, LINEAR, "grid", "this card has 98"),
        (T4, ONE_LAYER, "stacked", "it needs compute capability 8.0"),
        (T4, LINEAR, "grid", "this card has 7.5"),
    ],
)
def test_auto_takes_the_next_engine_where_a_card_lacks_something_and_says_why(
    card: Card, run: RunSettings, engine: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    monkeypatch.setattr(_in_half, "card_of", lambda device: card)
    chosen, precision = choose_way(run, "auto", GPU, None)
    assert chosen == engine
    assert precision == ("half" if engine == "fused" else "tf32")
    (line,) = describe([PlannedEnsemble((0,), (run,), chosen, GPU, precision)])
    assert ("not the fused one" in line) == bool(reason)
    assert reason in line


def test_kernels_are_for_nvidia_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert choose_way(ONE_LAYER, "auto", GPU, None) == ("stacked", "tf32")
