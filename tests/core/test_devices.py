"""One rule says which device computes, for training and analyses alike."""

from typing import Any

import pytest
import torch

from algophase import analyze, train
from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


@pytest.mark.usefixtures("no_gpu")
def test_the_cpu_takes_over_from_a_gpu_that_is_missing_and_a_warning_says_so(
    said: list[str],
) -> None:
    for quiet in ("auto", "cpu", torch.device("cpu")):
        assert choose_device(quiet) == torch.device("cpu")
    assert said == []
    assert choose_device("cuda:1") == choose_device(torch.device("cuda")) == torch.device("cpu")
    assert analyze(handmade_clock(7, (1,)), device="cuda").accuracy == 1
    assert len(said) == 3
    assert train([], device="cuda") == []
    assert said[-1] == "no GPU was found for device cuda: using the CPU instead"


@pytest.mark.usefixtures("no_gpu")
def test_strictness_can_be_asked_for(said: list[str]) -> None:
    for ask in (
        lambda: choose_device("cuda:1", strict=True),
        lambda: train([], device="cuda:1", strict_device=True),
    ):
        with pytest.raises(InputError, match=r"device is 'cuda:1'; .*auto or cpu"):
            ask()
    assert choose_device("auto", strict=True) == torch.device("cpu")
    assert said == []


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_by_a_number_that_no_gpu_has_is_an_error() -> None:
    assert choose_device("cuda:1") == torch.device("cuda:1")
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda:0")
    with pytest.raises(InputError, match=r"device is 'cuda:5'; .*cuda:0, cuda:1"):
        choose_device("cuda:5")


@pytest.mark.parametrize("device", ["foo", "meta", "tpu", "cuda:", "", 3.5, None, 0])
def test_what_is_no_device_is_named_with_the_choices(device: Any) -> None:
    with pytest.raises(
        InputError, match=r"device is .*; choose one of auto, cpu, cuda, cuda:0, cuda:1, \.\.\."
    ):
        choose_device(device)
