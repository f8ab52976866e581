"""Every kernel against its plain-torch reference, outputs and every gradient: on a GPU, or in
Triton's interpreter on a CPU.
"""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="Triton is not installed")

import triton
import triton.language as tl

from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.training.check.gradient_check import away_from_kinks, compare
from algophase.training.engines._loss import Loss
from algophase.training.engines.stacked import StackedEngine, attend, bias_relu
from algophase.training.kernels._shared import activate_both
from algophase.training.run.optimizer import AdamW

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONG = pytest.mark.slow  # for Triton's interpreter


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def gradients(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(output.sum(), inputs))


@pytest.mark.parametrize(
    ("positions", "asking", "heads", "size"),
    [(2, 1, 4, 5), (2, 2, 3, 8), (3, 3, 2, 4), (3, 1, 1, 6)],
)
def test_attend(positions: int, asking: int, heads: int, size: int) -> None:
    n, rows, width = 2, 70, heads * size
    q = random(n, asking, rows, width, seed=1).requires_grad_() if asking < positions else None
    joint = random(n, positions, rows, (3 if q is None else 2) * width, seed=2).requires_grad_()
    inputs = [joint] if q is None else [q, joint]
    rate, scale = torch.tensor([0.3, 1.0], device=DEVICE), torch.tensor([0.5, 0.7], device=DEVICE)
    weight = random(n, asking, rows, width, seed=4)
    expected = attend(q, joint, heads, rate, scale, fused=False)
    found = attend(q, joint, heads, rate, scale, fused=True)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(
        gradients(found * weight, inputs), gradients(expected * weight, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (130, 20), (257, 600)])
def test_bias_relu(rows: int, columns: int) -> None:
    x, bias = (
        random(2, rows, columns, seed=1).requires_grad_(),
        random(2, columns, seed=2).requires_grad_(),
    )
    weight = random(2, rows, columns, seed=3)
    expected = bias_relu(x, bias, fused=False)
    found = bias_relu(
        x + 0, bias, fused=True
    )  # in place: on a copy, as on the product it follows in a network
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        gradients(found * weight, (x, bias)), gradients(expected * weight, (x, bias)), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_bias_relu_hides_no_nan() -> None:
    x = random(1, 40, 16, seed=1)
    x[0, 3, 5] = torch.nan
    found = bias_relu(x, torch.zeros(1, 16, device=DEVICE), fused=True)
    assert found.isnan().nonzero().tolist() == [[0, 3, 5]]


@pytest.mark.parametrize(("rows", "outputs", "columns"), [(1, 7, 7), (70, 59, 64), (33, 118, 120)])
@pytest.mark.parametrize("right", [0.0, 20.0, -200.0])
def test_cross_entropy(rows: int, outputs: int, columns: int, right: float) -> None:
    """right: how far a label's logit is above the others, from a loss of 1e-8 to one of 200."""
    labels = torch.arange(2 * rows, device=DEVICE).view(2, rows) % outputs
    lifted = right * torch.nn.functional.one_hot(labels, columns)
    logits = (random(2, rows, columns, seed=1) + lifted).requires_grad_()
    weights = random(2, rows, seed=2).abs()
    expected, found = (
        Loss().weighted(logits[..., :outputs], labels, weights, fused=fused)
        for fused in (False, True)
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)
    upstream = torch.tensor([0.5, 2.0], device=DEVICE)
    (ours,), (theirs,) = (
        gradients(found * upstream, [logits]),
        gradients(expected * upstream, [logits]),
    )
    torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=0)


class StackedWithKernels(StackedEngine):
    """As it runs on a GPU, wherever this runs."""

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        self.kernels = True


@pytest.mark.parametrize(
    "task",
    [
        TaskSettings(modulus=7),
        TaskSettings(modulus=6, separate_vocabularies=True, equals_sign=True),
    ],
)
@pytest.mark.parametrize(
    ("layers", "activation"),
    [
        (1, "relu"),
        pytest.param(2, "relu", marks=LONG),
        pytest.param(3, "relu", marks=LONG),
        (2, "gelu"),
    ],
)
def test_stacked_engine_with_kernels_has_the_specifications_gradients(
    task: TaskSettings, layers: int, activation: str
) -> None:
    networks = [TransformerSettings(8, layers, 2, activation, rate) for rate in (0.0, 0.4, 1.0)]
    runs = [
        away_from_kinks(RunSettings(task=task, network=network, seed=seed))
        for seed, network in enumerate(networks)
    ]
    parameter, error, _ = compare(StackedWithKernels, runs, DEVICE, "float32")
    assert error < 2e-5, parameter


def test_adamw_kernel_is_the_optimizer() -> None:
    runs = [
        RunSettings(task=TaskSettings(modulus=5), network=TransformerSettings(width=4), seed=seed)
        for seed in range(3)
    ]
    engine = StackedEngine(runs, DEVICE, "float32")
    plain, kernel = AdamW(engine.parameters, runs), AdamW(engine.parameters, runs, fused=True)
    plain.parameters, kernel.parameters = (
        engine.parameters.flat.clone(),
        engine.parameters.flat.clone(),
    )
    for optimizer in (plain, kernel):
        optimizer.freeze(torch.tensor([False, True, False], device=DEVICE))
    for step in range(4):
        engine.gradients.flat.copy_(random(*engine.gradients.flat.shape, seed=step))
        plain.step(engine.gradients)
        kernel.step(engine.gradients)
        torch.testing.assert_close(kernel.parameters, plain.parameters, rtol=1e-6, atol=1e-7)
    assert torch.equal(kernel.parameters[1], engine.parameters.flat[1])  # frozen
    assert not torch.equal(kernel.parameters[0], engine.parameters.flat[0])


@triton.jit  # type: ignore[untyped-decorator]
def _activation(X, POST, STEEP, GELU: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, 1024)
    post, steep = activate_both(tl.load(X + i), GELU)
    tl.store(POST + i, post)
    tl.store(STEEP + i, steep)


def test_the_polynomials_are_gelu_and_units_that_never_fire_have_no_slope() -> None:
    x = torch.linspace(-20, 20, 1024, device=DEVICE).requires_grad_()
    post, steep = torch.empty_like(x), torch.empty_like(x)
    _activation[(1,)](x.detach(), post, steep, GELU=True)
    expected = torch.nn.functional.gelu(x.double())
    (slope,) = torch.autograd.grad(expected.sum(), x)
    assert (post - expected).abs().max() < 1e-5
    assert (steep - slope).abs().max() < 2e-5
    dead = x < -5
    assert post[dead].abs().max() < 1e-6
    assert steep[dead].abs().max() < 1e-7
