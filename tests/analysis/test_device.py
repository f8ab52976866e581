"""Every number is computed where the network is, and nothing waits for the device before the
results are read.
"""

import math
from collections import defaultdict

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from algophase.analysis import analyze as analysis_of
from algophase.analysis import device as moving
from algophase.analysis._measured import UNIT, measure_on_device, metrics_on_cpu
from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.catalogue import metrics
from algophase.analysis.circles.find import find_circles, isolate_circles
from algophase.analysis.circles.principal import network_components, principal_components
from algophase.analysis.device import in_float64
from algophase.analysis.logits.metrics import gradient_symmetricity, gradient_symmetricity_exact
from algophase.analysis.program.instances import isolate
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.core.threads import one_thread
from algophase.networks import Cache, Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")


def networks() -> list[Network]:
    """One of each kind, most with circles."""
    planted = initialize(
        RunSettings(
            TaskSettings(modulus=13, equals_sign=True), TransformerSettings(width=12, layers=2)
        )
    )
    with torch.no_grad():
        planted.operand_tables()[0][:, :2] = 5 * handmade_clock(13, (3,)).embed.weight
    settings = [
        TransformerSettings(width=16, attention_rate=0.4),
        TransformerSettings(width=8, activation="gelu"),
    ]
    others = [
        initialize(RunSettings(TaskSettings(modulus=8, separate_vocabularies=True), one))
        for one in settings
    ]
    linear = [
        initialize(RunSettings(TaskSettings(modulus=7), LinearSettings(model, 6, 8)))
        for model in ("alpha", "alpha-prime", "beta", "gamma", "delta")
    ]
    return [
        handmade_clock(11, (1, 4)),
        handmade_pizza(12, (1, 5), accompanied=True),
        planted,
        *others,
        *linear,
    ]


class OneDevice(TorchDispatchMode):
    """No operation but a copy may mix tensors of two devices. Single numbers may come from the
    CPU, as PyTorch allows.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if "copy" not in func.name():
            tensors = [
                item for item in tree_leaves((args, kwargs)) if isinstance(item, torch.Tensor)
            ]
            devices = {item.device.type for item in tensors if item.dim() > 0}
            assert len(devices) <= 1, f"{func.name()} mixes {sorted(devices)}"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("index", range(len(networks())))
def test_no_tensor_is_left_behind_and_nothing_waits(index: int) -> None:
    """On the meta device tensors have no values: asking for one, as whatever waits for a GPU
    does, is an error.
    """
    subject = Subject(networks()[index], "meta")
    with OneDevice():
        launched = measure_on_device(subject)
        alone = [[circle.frequency] for circle in subject.circles]
        sums = analysis_of._isolate(subject, alone, with_sums=True).packed.flat
    assert launched.flat.device.type == sums.device.type == "meta"
    assert len(launched.flat) == sum(shape.numel() for shape in launched.shapes.values())
    known = metrics_on_cpu(subject, launched)
    on_device = {quantity.name for quantity in metrics() if quantity.measure is not None}
    assert on_device <= {*known, *launched.shapes}
    assert not known.keys() & launched.shapes.keys()
    assert any(name.startswith(UNIT) for name in launched.shapes) == (
        subject.hidden_layer is not None
    )
    there, p = 1 + len(alone), subject.modulus
    by_action = 3 * p * p  # of its own logits, by what three actions leave unchanged
    assert len(sums) == 3 * there + there**2 + there * p + there * p * p + by_action


@pytest.mark.parametrize("index", range(len(networks())))
def test_program_and_instances_are_queued_without_waiting(index: int) -> None:
    network = networks()[index]
    there, here, p = in_float64(network, "meta"), in_float64(network), network.task.modulus
    components = network_components(here)
    groups = [[k] for k in range(1, p // 2 + 1)]
    with OneDevice():
        first = isolate(there, components, [], with_sums=True).packed
        second = isolate(there, components, groups, groups).packed
    assert first.flat.device.type == second.flat.device.type == "meta"
    assert first.shapes == isolate(here, components, [], with_sums=True).packed.shapes
    assert second.shapes == isolate(here, components, groups, groups).packed.shapes


class Squares(Network):
    """The how-to's network of its own kind, here with a buffer, a tied table, a counter and a
    list.
    """

    scale: Tensor
    calls: Tensor

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__(TaskSettings(modulus=11), LinearSettings(width=8))
        self.embedding = nn.Parameter(torch.zeros(11, 8))
        self.second = self.embedding
        self.readout = nn.Parameter(torch.zeros(8, 11))
        self.register_buffer("scale", torch.tensor([scale]))
        self.register_buffer("calls", torch.tensor(3))
        self.register_buffer("nothing", None)
        self.listed = [self.readout]  # which PyTorch does not know of
        self.counts = defaultdict[str, int](int)
        angles = 2 * torch.pi * torch.arange(11) / 11
        with torch.no_grad():
            for unit in range(8):
                turn = torch.pi * unit / 8
                self.embedding[:, unit], self.readout[unit] = (
                    torch.cos(angles - turn),
                    torch.cos(angles - 2 * turn),
                )

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.embedding, self.second

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        self.counts["calls"] += 1
        return (first + second).square() @ self.readout * self.scale


def test_a_network_with_buffers_and_tied_weights_is_analyzed() -> None:
    assert analyze(Squares()).verdict.label == "Pizza"
    assert analyze(Squares(-1.0)).verdict.label == "not learned"


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_copy_in_float64_keeps_ties_and_converts_buffers(device: str) -> None:
    network = Squares()
    copied = in_float64(network, device)
    assert copied.embedding is copied.second
    assert copied.embedding is not network.embedding
    assert copied.listed[0] is copied.readout
    assert copied.counts["none"] == 0
    assert {value.dtype for value in copied.parameters()} == {copied.scale.dtype} == {torch.float64}
    assert copied.calls.dtype == torch.int64
    assert {value.device.type for value in copied.state_dict().values()} == {device}
    assert {value.dtype for value in network.parameters()} == {torch.float32}
    assert not any(value.requires_grad for value in copied.parameters())
    assert (network.training, copied.training) == (
        True,
        False,
    )  # what is analyzed is what it answers at inference


@pytest.mark.parametrize("index", range(len(networks())))
def test_a_copy_of_one_of_ours_is_what_a_deep_copy_would_be(
    index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = networks()[index]
    assert all(
        moving._is_copyable(module) for module in network.modules()
    )  # so that the quick copy is the one compared
    quick = in_float64(network)
    monkeypatch.setattr(moving, "_is_copyable", lambda module: False)
    deep = in_float64(network)
    assert [type(module) for module in quick.modules()] == [
        type(module) for module in deep.modules()
    ]
    for one, other, given in zip(quick.modules(), deep.modules(), network.modules(), strict=True):
        assert vars(one).keys() == vars(other).keys()
        assert not one.training
        assert all(
            vars(one)[name] is not value
            for name, value in vars(given).items()
            if isinstance(value, dict)
        )
    assert_close(quick.state_dict(), deep.state_dict(), rtol=0, atol=0)
    assert not {id(value) for value in quick.parameters()} & {
        id(value) for value in network.parameters()
    }


def test_a_copy_of_one_of_ours_keeps_what_was_added_to_it() -> None:
    network = handmade_pizza(7, (1,))
    network.register_forward_hook(lambda module, given, found: 2 * found)
    scales = network.__dict__["scales"] = [torch.ones(2)]
    copied = in_float64(network)
    assert copied._forward_hooks
    assert copied.__dict__["scales"][0] is not scales[0]


def test_a_network_made_in_inference_mode_has_gradients() -> None:
    with torch.inference_mode():
        network = Squares()
        inside = gradient_symmetricity(network)
    assert inside == gradient_symmetricity(network) == gradient_symmetricity(Squares())
    assert gradient_symmetricity_exact(network) == gradient_symmetricity_exact(Squares())


def test_a_copy_of_a_network_in_float64_is_a_copy() -> None:
    network = Squares().double()
    copied = in_float64(network)
    network.readout.data.zero_()
    network.calls.zero_()
    network.register_forward_hook(lambda *_: None)
    assert bool(copied.readout.any())
    assert copied.calls == 3
    assert not copied._forward_hooks


def test_components_do_not_depend_on_the_number_of_threads(two_threads: None) -> None:
    tables = handmade_pizza(113, tuple(range(1, 9)), accompanied=True).distinct_tables()
    found = principal_components(tables).coordinates
    with one_thread():
        assert torch.equal(
            principal_components(tables).coordinates, found
        )  # exactly round circles, whose axes rounding chooses


def test_the_cpu_has_one_thread_while_a_gpu_works(
    two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[int]()

    def started(network: Network, device: torch.device) -> Subject:
        seen.append(torch.get_num_threads())
        raise InputError("started")

    monkeypatch.setattr(analysis_of, "choose_device", torch.device)
    monkeypatch.setattr(analysis_of, "Subject", started)
    for device in ("meta", "cpu"):
        assert [str(error) for error in analyze_many([Squares(), Squares()], device=device)] == [
            "started",
            "started",
        ]
        assert torch.get_num_threads() == 2
    assert seen == [1, 1, 2, 2]


def assert_same(found: object, expected: object) -> None:
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, list):
        assert isinstance(found, list)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert found == expected


@needs_gpu
def test_a_gpu_gives_the_same_analyses() -> None:
    every = [*networks(), initialize(RunSettings()), handmade_pizza(59, (3, 17), accompanied=True)]
    for found, network in zip(analyze_many(every, device="cuda"), every, strict=True):
        assert isinstance(found, Analysis)
        assert_same(found.to_dict(), analyze(network).to_dict())


@needs_gpu
def test_a_network_on_a_gpu_is_analyzed_on_either_side() -> None:
    network = handmade_pizza(12, (1, 5), accompanied=True)
    expected, there = (
        analyze(network).to_dict(),
        handmade_pizza(12, (1, 5), accompanied=True).cuda(),
    )
    assert_same(analyze(there).to_dict(), expected)
    assert_same(analyze(there, device="cuda").to_dict(), expected)
    circles = find_circles(network_components(there))
    assert (
        isolate_circles(there, circles[:1]).accuracy
        == isolate_circles(network, circles[:1]).accuracy
    )


@needs_gpu
def test_a_network_that_overflows_does_not_disturb_its_neighbors_on_a_gpu() -> None:
    broken = handmade_pizza(7, (1,))
    with torch.no_grad():
        broken.l1.weight.mul_(1e200)
        broken.unembed.weight.mul_(1e200)
    first, second, third = analyze_many(
        [handmade_clock(7, (1,)), broken, handmade_clock(7, (2,))], device="cuda"
    )
    assert isinstance(first, Analysis)
    assert isinstance(third, Analysis)
    assert "its logits are not finite" in str(second)
    assert math.isclose(first.accuracy, 1.0)
