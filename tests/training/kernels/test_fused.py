"""The fused engine against the specification: on a GPU, or in Triton's interpreter on a CPU."""

from dataclasses import replace

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.training.check._states import states
from algophase.training.check.gradient_check import away_from_kinks, compare
from algophase.training.engines import fused
from algophase.training.engines.cards import SMALLER, Tiles
from algophase.training.engines.fused import FusedTransformer
from algophase.training.engines.plain import PlainEngine
from algophase.training.run.optimizer import AdamW

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONG = pytest.mark.slow  # for Triton's interpreter

SHARED = TaskSettings(modulus=5)
BOTH = TaskSettings(
    modulus=5, separate_vocabularies=True, equals_sign=True, outputs="modulus"
)  # more tokens than outputs
CASES = {
    "one head": (SHARED, [TransformerSettings(16, 1, 1, "gelu", 0.37)]),
    "separate, equals sign": (BOTH, [TransformerSettings(12, 1, 1, "gelu", 0.37)]),
    "mixed widths": (
        SHARED,
        [TransformerSettings(width, 1, 4, "relu", rate) for width, rate in ((9, 0.0), (16, 1.0))],
    ),
    "equals sign": (
        TaskSettings(modulus=7, equals_sign=True),
        [TransformerSettings(16, 1, 2, "relu", 1.0)],
    ),
    "separate": (
        TaskSettings(modulus=6, separate_vocabularies=True),
        [TransformerSettings(31, 1, 3, "gelu", 0.37)],
    ),
    "eight heads": (TaskSettings(modulus=17), [TransformerSettings(32, 1, 8, "gelu", 1.0)]),
    "many outputs": (TaskSettings(modulus=67), [TransformerSettings(16, 1, 1, "gelu", 1.0)]),
    "group": (TaskSettings(group="S3"), [TransformerSettings(16, 1, 1, "relu", 0.37)]),
    "group, separate, equals sign": (
        TaskSettings(group="D4", separate_vocabularies=True, equals_sign=True),
        [TransformerSettings(12, 1, 1, "gelu", 0.37)],
    ),
    "subtraction": (
        TaskSettings(5, operation="subtract"),
        [TransformerSettings(16, 1, 1, "gelu", 0.37)],
    ),
    "multiplication": (
        TaskSettings.multiplication(7),
        [TransformerSettings(16, 1, 1, "gelu", 0.37)],
    ),
    "relabeling": (
        TaskSettings(5, relabeling=((1, 0, 2, 4, 3), (0, 2, 1, 3, 4), (4, 3, 2, 1, 0))),
        [TransformerSettings(16, 1, 1, "gelu", 0.37)],
    ),
}


def runs_of(case: str) -> list[RunSettings]:
    task, networks = CASES[case]
    return [
        away_from_kinks(RunSettings(task=task, network=network, seed=seed))
        for seed, network in enumerate(networks)
    ]


QUICK = ("one head", "separate, equals sign", "group")


@pytest.mark.parametrize(
    "case", [case if case in QUICK else pytest.param(case, marks=LONG) for case in CASES]
)
def test_gradients_are_the_specifications(case: str) -> None:
    parameter, error, _ = compare(FusedTransformer, runs_of(case), DEVICE, "half")
    assert error < 5e-3, parameter


@pytest.mark.parametrize("case", ["one head", "group", pytest.param("equals sign", marks=LONG)])
def test_wide_networks_take_another_way_to_the_same_gradients(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "WIDE", 8)
    parameter, error, _ = compare(FusedTransformer, runs_of(case), DEVICE, "half")
    assert error < 5e-3, parameter


@LONG
def test_a_wide_networks_width_is_no_power_of_two() -> None:
    run = RunSettings(task=SHARED, network=TransformerSettings(300, 1, 4, "gelu", 0.37))
    assert FusedTransformer.padded([run], DEVICE) == TransformerSettings(384, 1, 4, "gelu")
    parameter, error, _ = compare(FusedTransformer, [run], DEVICE, "half")
    assert error < 5e-3, parameter


@LONG
def test_a_program_may_take_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does with 256 channels: one scale for the two tiles that `by_units` makes of them."""
    monkeypatch.setattr(FusedTransformer, "rows_for", lambda engine, channels: 128)
    (run,) = runs_of("one head")
    parameter, error, _ = compare(
        FusedTransformer, [replace(run, task=TaskSettings(modulus=17))], DEVICE, "half"
    )
    assert error < 5e-3, parameter


@pytest.mark.parametrize("case", ["one head", pytest.param("many outputs", marks=LONG)])
def test_gradients_are_right_with_the_tiles_of_smaller_cards(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Channels of the direct logits in two parts, as with 256 of them; 128 outputs in two tiles."""
    monkeypatch.setenv("ALGOPHASE_SHARED_MEMORY_KB", "99")
    narrower = Tiles({**SMALLER["by_rows"].most, "BC": 32})
    monkeypatch.setitem(SMALLER, "by_rows", narrower)
    parameter, error, _ = compare(FusedTransformer, runs_of(case), DEVICE, "half")
    assert error < 5e-3, parameter


@pytest.mark.parametrize("width", [16, 128, 512])
def test_the_memory_of_a_network_is_estimated_on_the_high_side(width: int) -> None:
    engine = FusedTransformer(
        [RunSettings(network=TransformerSettings(width))], torch.device("cpu"), "half"
    )
    # with moments and copies; this sum is what an H200 reported
    allocated = sum(value.nbytes for value in engine.memory.values())
    allocated += 8 * engine.parameters.flat.nbytes
    assert 1.0 <= 4 * engine.numbers_per_network(engine.task, engine.settings) / allocated < 2.0


@LONG
@pytest.mark.parametrize("wide", [fused.WIDE, 8])
@pytest.mark.parametrize("state", ["middle", "late", "dead attention", "near divergence"])
def test_gradients_stay_right(state: str, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "WIDE", wide)
    runs = runs_of("eight heads")
    _, error, cosine = compare(FusedTransformer, runs, DEVICE, "half", states(runs, DEVICE)[state])
    assert error < 0.1
    assert cosine > 0.999


@pytest.mark.parametrize(
    "case", ["separate, equals sign", pytest.param("group, separate, equals sign", marks=LONG)]
)
def test_padding_has_no_gradient_and_all_pairs_are_judged(case: str) -> None:
    """Also the padding of heads and their sizes, which is not part of any network."""
    (run,) = runs_of(case)
    engine, plain = FusedTransformer([run], DEVICE, "half"), PlainEngine([run], DEVICE, "float64")
    engine.loss_and_gradient()
    exported = sum(value.count_nonzero() for value in engine.export(engine.gradients).values())
    assert engine.gradients.flat.count_nonzero() == exported
    (loss, right), (expected_loss, expected_right) = engine.all_pairs(), plain.all_pairs()
    torch.testing.assert_close(loss.double(), expected_loss, rtol=1e-2, atol=0)
    assert torch.equal(right, expected_right)


@LONG
def test_a_networks_bits_do_not_depend_on_its_company() -> None:
    task, network = SHARED, TransformerSettings(16, 1, 1, "relu", 0.37)
    runs = [RunSettings(task=task, network=network, seed=seed) for seed in range(3)]
    together, alone = (
        FusedTransformer(runs, DEVICE, "half"),
        FusedTransformer(runs[1:2], DEVICE, "half"),
    )
    loss, own_loss = together.loss_and_gradient(), alone.loss_and_gradient()
    assert torch.equal(loss[1], own_loss[0])
    assert torch.equal(together.gradients.flat[1], alone.gradients.flat[0])


@LONG
@pytest.mark.filterwarnings("ignore:All-NaN slice", "ignore:invalid value")  # by the interpreter
@pytest.mark.parametrize("case", ["one head", "equals sign"])  # GELU, ReLU
def test_a_network_that_diverged_loses_every_answer_and_no_other_networks(case: str) -> None:
    (run,) = runs_of(case)
    engine = FusedTransformer([run, replace(run, seed=run.seed + 1)], DEVICE, "half")
    before = engine.loss_and_gradient().clone()
    engine.parameters.flat[1] = torch.nan
    loss = engine.loss_and_gradient()
    assert loss.isnan().tolist() == [False, True]
    assert loss[0] == before[0]
    assert not engine.all_pairs()[1][1].any()


def test_two_launches_are_the_optimizer() -> None:
    runs = [
        RunSettings(task=SHARED, network=TransformerSettings(width=4), seed=seed)
        for seed in range(3)
    ]
    optimizers, noted = [], []
    for two in (False, True):
        engine = PlainEngine(runs[:1], DEVICE, "float32")
        flat = type(engine.parameters)(3, engine.parameters.shapes, DEVICE, torch.float32)
        flat.flat.copy_(engine.parameters.flat)
        optimizers.append(AdamW(flat, runs, two_launches=two))
        noted.append(torch.full((3,), -1, dtype=torch.int64, device=DEVICE))
    gradients = optimizers[0].parameters.new_zeros(optimizers[0].parameters.shape)
    held = type("Held", (), {"flat": gradients})()
    for step in range(4):
        gradients.copy_(torch.randn(gradients.shape, generator=torch.Generator().manual_seed(step)))
        loss = torch.tensor([1.0, float("nan") if step == 2 else 1.0, 1.0], device=DEVICE)
        for optimizer, diverged_at in zip(optimizers, noted, strict=True):
            optimizer.epoch(held, loss, diverged_at)
    plain, kernels = optimizers
    torch.testing.assert_close(kernels.parameters, plain.parameters, rtol=1e-6, atol=1e-7)
    assert noted[0].tolist() == noted[1].tolist() == [-1, 2, -1]
    assert kernels.steps.item() == plain.steps.item() == 4
    assert torch.equal(kernels.alive, plain.alive)


def test_right_answers_are_looked_up_for_all_but_addition_by_its_own_names() -> None:
    """A group of 128 elements has answers up to 127, the largest that eight bits hold."""
    cpu, small = torch.device("cpu"), TransformerSettings(4, 1, 1)
    assert FusedTransformer([RunSettings(SHARED, small)], cpu, "half").values["LABELS"] is None
    run = RunSettings(TaskSettings(group="D64"), small)
    assert "it needs a CUDA device" in str(FusedTransformer.unsupported(run, cpu))
    labels = FusedTransformer([run], cpu, "half").values["LABELS"]
    for a, b in ((0, 127), (127, 0), (65, 3), (3, 65)):
        assert labels.flatten()[a + 256 * b] == run.task.finite_group.sum(a, b)


def test_another_precision_is_an_error() -> None:
    with pytest.raises(InputError, match="precision is 'tf32'; this engine has half"):
        FusedTransformer(runs_of("one head"), DEVICE, "tf32")


def test_what_it_cannot_train_is_told() -> None:
    cuda = torch.device("cuda")
    for network, reason in (
        (TransformerSettings(width=2048), "widths up to 1024, not 2048"),
        (TransformerSettings(width=128, heads=16), "at most 8 heads, not 16"),
        (
            TransformerSettings(width=1024, heads=1),
            "heads of 1024 channels are too large at p = 59",
        ),
        (TransformerSettings(layers=2), "one layer, not 2"),
    ):
        assert reason in str(FusedTransformer.unsupported(RunSettings(network=network), cuda))
    large = RunSettings(TaskSettings(group="D65"))
    assert "at most 128 outputs, not 130" in str(FusedTransformer.unsupported(large, cuda))
