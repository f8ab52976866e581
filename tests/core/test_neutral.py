"""An analysis changes nothing of the caller's: module, modes, types, devices, random numbers;
and none of them changes it.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from algophase.analysis.analyze import analyze
from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock
from algophase.networks.wrapped import wrap
from algophase.storage import save

P = 11


class Clockwork(nn.Module):
    """A hand-made Clock behind an embedding, and whatever a test adds after it."""

    def __init__(self, after: nn.Module | None = None, **embedding: Any) -> None:
        super().__init__()
        self.clock = handmade_clock(P, (1, 3)).float()
        self.numbers = nn.Embedding(P, 4, **embedding)
        self.numbers.weight.data = 3 * self.clock.operand_tables()[0].detach().clone()
        self.after = after or nn.Identity()

    def forward(self, tokens: Tensor) -> Tensor:
        first, second = self.numbers(tokens).unbind(1)
        return self.after(self.clock.logits_from_embeddings(first, second))


class Counting(nn.Module):
    """Writes into its buffer and replaces another, whatever mode it is in."""

    calls: Tensor
    last: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("last", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.last = x.detach().mean()
        return x


class Failing(nn.Module):
    """Runs while it is wrapped, and no longer when it is analyzed."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype == torch.float64:
            raise RuntimeError("not in float64")
        return x


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 0.01 * torch.randn_like(x)


class Drawing(nn.Module):
    """Draws random numbers that do not show in its answers."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 0 * torch.randn_like(x) + 0 * random.random() + 0 * np.random.random()  # noqa: NPY002


def everything(module: nn.Module) -> dict[str, Any]:
    """All that must be as before."""
    return {
        "state": {name: value.clone() for name, value in module.state_dict().items()},
        "modes": [part.training for part in module.modules()],
        "held": [
            id(value)
            for part in module.modules()
            for value in (*part._parameters.values(), *part._buffers.values())
        ],
        "forward": ["forward" in vars(part) for part in module.modules()],
        "gradients": [parameter.grad for parameter in module.parameters()],
        "needs gradients": [parameter.requires_grad for parameter in module.parameters()],
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "inference": torch.is_inference_mode_enabled(),
        "gradients on": torch.is_grad_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "threads": torch.get_num_threads(),
        "random": random.getstate(),
        "numpy": str(np.random.get_state()),  # noqa: NPY002
        "torch": torch.get_rng_state().tolist(),
    }


def same(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, value in before.pop("state").items():
        assert torch.equal(value, after["state"][name]), name
    after.pop("state")
    assert before == after


MODULES: dict[str, Callable[[], nn.Module]] = {
    "batch norm": lambda: Clockwork(nn.BatchNorm1d(P)),
    "dropout": lambda: Clockwork(nn.Dropout(0.3)),
    "counting": lambda: Clockwork(Counting()),
    "max norm": lambda: Clockwork(max_norm=1.0),
    "drawing": lambda: Clockwork(Drawing()),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", MODULES)
def test_a_module_is_left_as_it_was(kind: str, training: bool, tmp_path: Any) -> None:
    module = MODULES[kind]().train(training)
    module.get_submodule("clock").eval()  # some parts in one mode, some in the other
    before = everything(module)
    analysis = analyze(module, modulus=P)
    assert analysis.accuracy == 1
    same(before | {"state": dict(before["state"])}, everything(module))
    save(wrap(module, modulus=P), tmp_path / "kept", analysis=analysis)
    same(before, everything(module))


def test_a_module_is_left_as_it_was_after_an_error() -> None:
    module = Clockwork(nn.Sequential(nn.BatchNorm1d(P), Counting(), Failing())).train()
    before = everything(module)
    with pytest.raises(RuntimeError, match="not in float64"):
        analyze(module, modulus=P)
    same(before, everything(module))


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def default_device(name: str) -> Iterator[None]:
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None)


SURROUNDINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "nothing": nullcontext,
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "default device meta": lambda: default_device("meta"),
    "default device cpu": lambda: default_device("cpu"),
    "device context": lambda: torch.device("meta"),
    "default float64": lambda: default_dtype(torch.float64),
    "default float16": lambda: default_dtype(torch.float16),
}


@pytest.mark.parametrize("kind", SURROUNDINGS)
def test_no_setting_changes_the_answer(kind: str) -> None:
    """What is cached on the way must not come from these settings either: the modulus is not
    used elsewhere.
    """
    module = Clockwork(nn.BatchNorm1d(P)).train()
    with SURROUNDINGS[kind]():
        before = everything(module)
        inside = analyze(module, modulus=P)
        handmade = module.clock
        analyze(handmade)
        same(before, everything(module))
    outside = analyze(module, modulus=P)
    assert inside.sentence == outside.sentence
    assert inside.metrics == pytest.approx(outside.metrics, abs=1e-12, nan_ok=True)


class Watching(nn.Module):
    """Asks another thread for the default type while it runs, and makes floats of its own."""

    seen: list[torch.dtype]

    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def forward(self, x: Tensor) -> Tensor:
        thread = threading.Thread(target=lambda: SEEN.append(torch.zeros(1).dtype))
        thread.start()
        thread.join()
        made = (
            torch.zeros(1)
            + torch.tensor(0.1)
            + torch.arange(3)[:1] / 3
            + torch.ones(3, dtype=torch.long).sqrt()[:1]
        )
        TYPES.append((x.dtype, made.dtype))
        return x * (1 + made)


SEEN: list[torch.dtype] = []
TYPES: list[tuple[torch.dtype, torch.dtype]] = []


def test_other_threads_do_not_see_float64() -> None:
    SEEN.clear()
    TYPES.clear()
    assert analyze(Clockwork(Watching()), modulus=P).accuracy == 1
    assert set(SEEN) == {torch.float32}
    assert (torch.float64, torch.float64) in TYPES
    assert all(own == made for own, made in TYPES)


@pytest.mark.parametrize("kind", ["noise", "dropout", "buffer"])
def test_answers_that_change_are_refused(kind: str) -> None:
    class Drifting(Counting):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1 + 0.1 * self.calls)

    class AlwaysDropping(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.dropout(x, 0.2, training=True)

    module = Clockwork({"noise": Noisy, "dropout": AlwaysDropping, "buffer": Drifting}[kind]())
    before = everything(module)
    with pytest.raises(InputError, match="answers change"):
        analyze(module, modulus=P)
    same(before, everything(module))


def test_a_network_of_ones_own_that_changes_is_refused() -> None:
    class Own(Network):
        def __init__(self) -> None:
            clock = handmade_clock(P)
            super().__init__(clock.task, clock.settings)
            self.clock = clock

        def operand_tables(self) -> tuple[Tensor, Tensor]:
            return self.clock.operand_tables()

        def logits_from_embeddings(
            self, first: Tensor, second: Tensor, cache: object = None
        ) -> Tensor:
            logits = self.clock.logits_from_embeddings(first, second)
            return logits + torch.rand(())

    with pytest.raises(InputError, match="answers change"):
        analyze(Own())
