"""Every kernel against its plain-torch reference, outputs and every gradient: on a GPU, or in Triton's interpreter on a CPU."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="Triton is not installed")

from algophase.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.training import fused
from algophase.training.attend import attend
from algophase.training.bias_relu import bias_relu
from algophase.training.fused import FusedTransformer
from algophase.training.gradient_check import away_from_kinks, compare
from algophase.training.kernels.grid_backward import grid_backward
from algophase.training.kernels.grid_forward import grid_forward, grid_reference
from algophase.training.kernels.grid_mix import mix, mix_backward, mix_reference
from algophase.training.kernels.launch import Launch
from algophase.training.loss import weighted_cross_entropy
from algophase.training.optimizer import AdamW
from algophase.training.stacked import StackedEngine

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONG = pytest.mark.slow  # for Triton's interpreter


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def gradients(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(output.sum(), inputs))


@pytest.mark.parametrize(("positions", "asking", "heads", "size"), [(2, 1, 4, 5), (2, 2, 3, 8), (3, 3, 2, 4), (3, 1, 1, 6)])
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
    for ours, theirs in zip(gradients(found * weight, inputs), gradients(expected * weight, inputs), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (130, 20), (257, 600)])
def test_bias_relu(rows: int, columns: int) -> None:
    x, bias = random(2, rows, columns, seed=1).requires_grad_(), random(2, columns, seed=2).requires_grad_()
    weight = random(2, rows, columns, seed=3)
    expected = bias_relu(x, bias, fused=False)
    found = bias_relu(x + 0, bias, fused=True)  # in place: on a copy, as on the product it follows in a network
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(gradients(found * weight, (x, bias)), gradients(expected * weight, (x, bias)), strict=True):
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
    expected, found = (weighted_cross_entropy(logits[..., :outputs], labels, weights, fused=fused) for fused in (False, True))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)
    upstream = torch.tensor([0.5, 2.0], device=DEVICE)
    (ours,), (theirs,) = gradients(found * upstream, [logits]), gradients(expected * upstream, [logits])
    torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=0)


class StackedWithKernels(StackedEngine):
    """As it runs on a GPU, wherever this runs."""

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        self.kernels = True


@pytest.mark.parametrize(
    "task", [TaskSettings(modulus=7), TaskSettings(modulus=6, separate_vocabularies=True, equals_sign=True)]
)
@pytest.mark.parametrize(
    ("layers", "activation"),
    [(1, "relu"), pytest.param(2, "relu", marks=LONG), pytest.param(3, "relu", marks=LONG), (2, "gelu")],
)
def test_stacked_engine_with_kernels_has_the_specifications_gradients(task: TaskSettings, layers: int, activation: str) -> None:
    networks = [TransformerSettings(8, layers, 2, activation, rate) for rate in (0.0, 0.4, 1.0)]
    runs = [away_from_kinks(RunSettings(task=task, network=network, seed=seed)) for seed, network in enumerate(networks)]
    parameter, error, _ = compare(StackedWithKernels, runs, DEVICE, "float32")
    assert error < 2e-5, parameter


def padded(tensor: Tensor, rows: int) -> Tensor:
    """(n, a, b, k) with b padded by zeros."""
    return torch.nn.functional.pad(tensor, (0, 0, 0, rows - tensor.shape[2]))


@pytest.mark.parametrize(("p", "heads", "size", "rows"), [(5, 4, 3, 16), (7, 3, 5, 16), (12, 1, 4, 16), (5, 4, 12, 128)])
@pytest.mark.parametrize("maps", [1, 2])
def test_mix(p: int, heads: int, size: int, rows: int, maps: int) -> None:
    n, width = 2, heads * size
    attention = random(n, maps, heads, p, p, seed=1).requires_grad_()
    values = random(n, 2 * p, width, seed=2).requires_grad_()
    expected = mix_reference(attention, values)
    z = torch.full((n, p, rows, width), float("nan"), device=DEVICE)
    mix(attention.detach(), values.detach(), z)
    torch.testing.assert_close(z, padded(expected.detach(), rows))
    dz = random(n, p, p, width, seed=3)
    d_attention, d_values = torch.full_like(attention, float("nan")), torch.full_like(values, float("nan"))
    mix_backward(attention.detach(), values.detach(), padded(dz, rows).contiguous(), d_attention, d_values)
    by_autograd = gradients(expected * dz, (attention, values))
    torch.testing.assert_close(d_attention, by_autograd[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(d_values, by_autograd[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("at_hand", [False, True])
@pytest.mark.parametrize(("p", "outputs", "channels", "hidden"), [(7, 7, 12, 64), (6, 12, 20, 32)])
def test_grid(gelu: bool, at_hand: bool, p: int, outputs: int, channels: int, hidden: int) -> None:
    n, rows, padded_outputs = 2, 16, 32
    width = hidden + padded_outputs
    z = random(n, p, p, channels, seed=1).requires_grad_()
    projected = random(n, channels, width, seed=2, scale=0.3)
    base = random(n, p, width, seed=3)
    projected[..., hidden + outputs :], base[..., hidden + outputs :] = 0, 0
    readout = random(n, hidden, padded_outputs, seed=4, scale=0.3)
    readout[..., outputs:] = 0
    inputs = [z, projected.requires_grad_(), base.requires_grad_(), readout.requires_grad_()]
    weights = torch.rand(n, p, p, generator=torch.Generator().manual_seed(5)).to(DEVICE) / p**2
    expected = grid_reference(z, projected, base, readout, weights, outputs=outputs, gelu=gelu)
    d_z, d_projected, d_base, d_readout = gradients(expected, inputs)

    nan = float("nan")
    units = torch.full((n, p, rows, hidden), nan, device=DEVICE)
    back = torch.full((n, p, rows, width), nan, device=DEVICE)
    loss = torch.full((n, p, rows), nan, device=DEVICE)
    plain_z, plain_projected = padded(z.detach(), rows).contiguous(), projected.detach()
    if at_hand:
        torch.bmm(plain_z.flatten(1, 2), plain_projected, out=back.flatten(1, 2))
    tensors = (plain_z, plain_projected, base.detach(), readout.detach(), weights, units, back, loss)
    launch = Launch(tile=32, rows=32, warps=4, stages=1)
    grid_forward(*tensors, outputs=outputs, gelu=gelu, precision="ieee", at_hand=at_hand, launch=launch)
    torch.testing.assert_close(loss.sum((1, 2)), expected.detach(), rtol=1e-5, atol=1e-6)
    base_parts = torch.full((n, 4, rows, hidden), nan, device=DEVICE)
    readout_parts = torch.full((n, 4, hidden, padded_outputs), nan, device=DEVICE)
    grid_backward(readout.detach(), units, back, base_parts, readout_parts, gelu=gelu, precision="ieee", launch=launch)
    torch.testing.assert_close(readout_parts.sum(1)[..., :outputs], d_readout[..., :outputs], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(base_parts.sum(1)[:, :p], d_base[..., :hidden], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(back[:, :, :p, hidden:].sum(1), d_base[..., hidden:], rtol=1e-4, atol=1e-6)
    assert not back[:, :, p:].any()  # padding of b has no gradient
    torch.testing.assert_close((back @ plain_projected[:, None].mT)[:, :, :p], d_z, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(plain_z.flatten(1, 2).mT @ back.flatten(1, 2), d_projected, rtol=1e-4, atol=1e-6)


def test_adamw_kernel_is_the_optimiser() -> None:
    runs = [RunSettings(task=TaskSettings(modulus=5), network=TransformerSettings(width=4), seed=seed) for seed in range(3)]
    engine = FusedTransformer(runs, DEVICE, "float32")
    plain, kernel = AdamW(engine.parameters, runs), AdamW(engine.parameters, runs, fused=True)
    plain.parameters, kernel.parameters = engine.parameters.flat.clone(), engine.parameters.flat.clone()
    for optimizer in (plain, kernel):
        optimizer.freeze(torch.tensor([False, True, False], device=DEVICE))
    for step in range(4):
        engine.gradients.flat.copy_(random(*engine.gradients.flat.shape, seed=step))
        plain.step(engine.gradients)
        kernel.step(engine.gradients)
        torch.testing.assert_close(kernel.parameters, plain.parameters, rtol=1e-6, atol=1e-7)
    assert torch.equal(kernel.parameters[1], engine.parameters.flat[1])  # frozen
    assert not torch.equal(kernel.parameters[0], engine.parameters.flat[0])


ENSEMBLES = [
    [
        TransformerSettings(9, attention_rate=0.37),
        TransformerSettings(16, attention_rate=1.0),
        TransformerSettings(12, attention_rate=0),
    ],
    [TransformerSettings(9, 1, 4, "gelu", 0.37), TransformerSettings(16, 1, 4, "gelu", 1.0)],
    [TransformerSettings(10, 1, 3, "relu", 0.5)],
]


TASKS = [
    TaskSettings(modulus=7),
    pytest.param(TaskSettings(modulus=6, separate_vocabularies=True), marks=LONG),
    pytest.param(TaskSettings(modulus=7, equals_sign=True), marks=LONG),
    TaskSettings(modulus=6, separate_vocabularies=True, equals_sign=True),
    pytest.param(TaskSettings(modulus=16, equals_sign=True), marks=LONG),  # no padding of b, and 17 outputs
]


@pytest.mark.parametrize("networks", ENSEMBLES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("most_channels", [128, 4])
def test_fused_engine_has_the_specifications_gradients(
    networks: list[TransformerSettings], task: TaskSettings, most_channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "block_size", lambda _: 2)  # two blocks, the last one with a spare network
    monkeypatch.setattr(fused, "MOST_CHANNELS", most_channels)
    runs = [away_from_kinks(RunSettings(task=task, network=network, seed=seed)) for seed, network in enumerate(networks)]
    parameter, error, _ = compare(FusedTransformer, runs, DEVICE, "float32")
    assert error < 2e-5, parameter
    engine = FusedTransformer(runs, DEVICE, "float32")
    loss = engine.loss_and_gradient()
    pair_loss, right = engine.all_pairs()
    torch.testing.assert_close((pair_loss * engine.weights).sum((1, 2)), loss, rtol=1e-5, atol=1e-6)
    assert right.shape == pair_loss.shape == (len(runs), task.modulus, task.modulus)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_network_that_diverged_loses_every_answer_and_no_other_networks(activation: str) -> None:
    network = TransformerSettings(16, activation=activation)
    runs = [RunSettings(task=TaskSettings(modulus=7), network=network, seed=seed) for seed in range(3)]
    engine = FusedTransformer(runs, DEVICE, "float32")
    before = engine.loss_and_gradient().clone()
    engine.parameters.flat[1] = torch.nan
    loss = engine.loss_and_gradient()
    assert loss.isnan().tolist() == [False, True, False]
    assert torch.equal(loss[[0, 2]], before[[0, 2]])
    assert not engine.all_pairs()[1][1].any()


def test_wider_networks_come_in_smaller_blocks() -> None:
    assert {width: fused.block_size(width) for width in (16, 128, 160, 256, 512, 1024)} == {
        16: 64,
        128: 64,
        160: 8,
        256: 8,
        512: 4,
        1024: 2,
    }
    assert fused.block_size(2**20) == 1


@pytest.mark.parametrize("precision", ["float32", "tf32"])
@pytest.mark.parametrize("equals_sign", [False, pytest.param(True, marks=LONG)])
@pytest.mark.parametrize(("width", "count"), [(128, 130), pytest.param(512, 34, marks=LONG)])  # two blocks and a bit, each
def test_a_network_is_the_same_bits_in_any_ensemble(
    precision: str, equals_sign: bool, width: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modulus = 59
    if DEVICE.type != "cuda":  # the interpreter is slow
        width, modulus, count = width // 16, 5, 3
        monkeypatch.setattr(fused, "block_size", lambda _: 2)
    task = TaskSettings(modulus=modulus, equals_sign=equals_sign)
    runs = [  # of two widths that are padded alike
        RunSettings(task=task, network=TransformerSettings(width - i % 2, attention_rate=i / count), seed=i)
        for i in range(count)
    ]

    def after_three_steps(some: list[RunSettings]) -> Tensor:
        engine = FusedTransformer(some, DEVICE, precision)
        optimizer = AdamW(engine.parameters, some, fused=True)
        for _ in range(3):
            engine.loss_and_gradient()
            optimizer.step(engine.gradients)
        return engine.parameters.flat.clone()

    together = after_three_steps(runs)
    for start, stop in ((0, 1), (1, 3), (2, count)):
        assert torch.equal(after_three_steps(runs[start:stop]), together[start:stop])
