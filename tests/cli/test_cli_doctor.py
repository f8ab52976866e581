"""`algophase doctor`, on a CPU and with the card of others."""

import pytest
import torch
from commands import invoke

from algophase.training.check import doctor, gradient_check
from algophase.training.check.gradient_check import Agreement, Comparison
from algophase.training.engines import _in_half
from algophase.training.engines.cards import Card


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIMED", ("linear beta, p 59",))
    monkeypatch.setattr(doctor, "CHECKED_ON_CPU", ("linear beta, p 7",))


@pytest.mark.usefixtures("quickly")
def test_it_says_what_is_here_which_engine_right_or_wrong_and_how_fast() -> None:
    result = invoke("doctor", "--device", "cpu", "--seconds", 0.1)
    said = result.output
    assert result.exit_code == 0
    assert f"| PyTorch | {torch.__version__} |" in said
    assert "| 1 layer, p 59, width 128 | grid | float32 | it needs a CUDA device |" in said
    assert "| 2 layers, p 59, width 128 | stacked | float32 |" in said
    assert "| linear beta, p 7 | grid | float64 |" in said
    assert "4 states right |" in said
    assert "| linear beta, p 59 | grid | float32 | 1 |" in said  # its time


def test_a_wrong_gradient_is_named_and_the_exit_code_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = Agreement("blocks.0.attn.W_K", 0.5, 0.9)
    wrong = Comparison("grid", "cpu", "float32", "1 layer, p 7", "late", agreement, 5e-3)
    monkeypatch.setattr(gradient_check, "check_all", lambda *arguments: [wrong])
    monkeypatch.setattr(doctor, "timings", lambda *arguments: [])
    result = invoke("doctor", "--device", "cpu", "--seconds", 0.1)
    assert result.exit_code == 1
    assert "| 1 layer, p 7 | grid | float32 | 5.0e-01 | WRONG: late |" in result.output
    assert "1 gradient wrong" in result.output


def test_a_missing_card_is_an_error() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a card")
    result = invoke("doctor", "--device", "cuda")
    assert result.exit_code == 1


def test_another_card_gets_other_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    for card, engine in ((Card((8, 9), 99), "fused"), (Card((7, 5), 64), "stacked")):
        monkeypatch.setattr(_in_half, "card_of", lambda device, card=card: card)
        chosen = {choice.kind: choice for choice in doctor.choices(torch.device("cuda"))}
        assert chosen["2 layers, p 59, width 256"].engine == engine
    assert "this card has 7.5" in chosen["2 layers, p 59, width 256"].reason
