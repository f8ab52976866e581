"""The half-precision engine for several layers against the specification: on a GPU, or in
Triton's interpreter on a CPU.
"""

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.training.check._states import states
from algophase.training.check.gradient_check import away_from_kinks, compare
from algophase.training.engines import _deep_tiles, deep
from algophase.training.engines.cards import SMALLER, Tiles
from algophase.training.engines.deep import DeepTransformer
from algophase.training.engines.plain import PlainEngine

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONG = pytest.mark.slow  # for Triton's interpreter

SHARED = TaskSettings(modulus=5)
BOTH = TaskSettings(
    modulus=5, separate_vocabularies=True, equals_sign=True, outputs="modulus"
)  # more tokens than outputs
CASES = {
    "two layers": (SHARED, [TransformerSettings(16, 2, 1, "gelu", 0.37)]),
    "separate, equals sign": (BOTH, [TransformerSettings(12, 2, 1, "gelu", 0.37)]),
    "three layers": (SHARED, [TransformerSettings(16, 3, 2, "gelu", 1.0)]),
    "three layers, equals sign": (
        TaskSettings(modulus=7, equals_sign=True),
        [TransformerSettings(16, 3, 2, "gelu", 0.37)],
    ),
    "mixed widths": (
        SHARED,
        [TransformerSettings(width, 2, 4, "relu", rate) for width, rate in ((9, 0.0), (16, 0.37))],
    ),
    "separate": (
        TaskSettings(modulus=6, separate_vocabularies=True),
        [TransformerSettings(31, 2, 3, "gelu", 0.37)],
    ),
    "subtraction": (
        TaskSettings(modulus=5, operation="subtract"),
        [TransformerSettings(16, 2, 1, "gelu", 1.0)],
    ),
    "group": (TaskSettings(group="S3"), [TransformerSettings(16, 2, 1, "gelu", 0.37)]),
    "many pairs": (TaskSettings(modulus=17), [TransformerSettings(16, 2, 8, "gelu", 1.0)]),
    "many outputs": (
        TaskSettings(modulus=67, training_fraction=0.05),
        [TransformerSettings(16, 2, 1, "gelu", 1.0)],
    ),
}
QUICK = ("separate, equals sign",)


def runs_of(case: str) -> list[RunSettings]:
    task, networks = CASES[case]
    return [
        away_from_kinks(RunSettings(task=task, network=network, seed=seed))
        for seed, network in enumerate(networks)
    ]


@pytest.mark.parametrize(
    "case", [case if case in QUICK else pytest.param(case, marks=LONG) for case in CASES]
)
def test_gradients_are_the_specifications(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case in QUICK:
        monkeypatch.setattr(deep, "PARTS", 1)  # half the rows
    parameter, error, _ = compare(DeepTransformer, runs_of(case), DEVICE, "half")
    relu = runs_of(case)[0].network.activation == "relu"  # type: ignore[attr-defined]
    assert error < (5e-2 if relu else 1e-2), parameter


def test_gradients_are_right_with_the_tiles_of_smaller_cards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Products of attention and with W_O in two parts, as with 256 channels."""
    monkeypatch.setenv("ALGOPHASE_SHARED_MEMORY_KB", "99")
    monkeypatch.setattr(DeepTransformer, "_attention_columns", lambda engine: 32)
    monkeypatch.setattr(deep, "unit_tiles", lambda *_: _deep_tiles.Tiles(16, 64, 8, 2))
    for kernel in ("deep_forward", "deep_last"):
        monkeypatch.setitem(SMALLER, kernel, Tiles({"BC": 8}))
    runs = runs_of("separate, equals sign")
    parameter, error, _ = compare(DeepTransformer, runs, DEVICE, "half")
    assert error < 5e-3, parameter


@LONG
def test_a_program_may_take_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tiles that each have a power of two of their own."""
    monkeypatch.setattr(deep, "row_tiles", lambda *_: _deep_tiles.Tiles(128, 32, 8, 2))
    parameter, error, _ = compare(DeepTransformer, runs_of("many pairs"), DEVICE, "half")
    assert error < 1e-2, parameter


@LONG
@pytest.mark.parametrize("state", ["middle", "late", "dead attention", "near divergence"])
def test_gradients_stay_right(state: str) -> None:
    runs = runs_of("three layers")
    _, error, cosine = compare(DeepTransformer, runs, DEVICE, "half", states(runs, DEVICE)[state])
    assert error < 0.1
    assert cosine > 0.999


@LONG
@pytest.mark.parametrize("matrix", ["attn.W_O", "mlp.W_out", "attn.W_V", "unembed.W_U"])
def test_a_matrix_that_died_takes_nothing_with_it(matrix: str) -> None:
    """Below what float16 can hold, its own share vanishes, and the rest of the gradient stays."""
    runs = runs_of("three layers")
    (start,) = states(runs, DEVICE)["start"]
    dead = {
        name: value * 1e-20 if name.endswith(matrix) else value for name, value in start.items()
    }
    _, error, cosine = compare(DeepTransformer, runs, DEVICE, "half", [dead])
    assert error < 0.01
    assert cosine > 0.9999


@LONG
def test_padding_has_no_gradient_and_all_pairs_are_judged() -> None:
    """Also the padding of heads and their sizes, which is not part of any network."""
    runs = runs_of("separate")
    engine, plain = DeepTransformer(runs, DEVICE, "half"), PlainEngine(runs, DEVICE, "float64")
    engine.loss_and_gradient()
    exported = sum(value.count_nonzero() for value in engine.export(engine.gradients).values())
    assert engine.gradients.flat.count_nonzero() == exported
    (loss, right), (expected_loss, expected_right) = engine.all_pairs(), plain.all_pairs()
    torch.testing.assert_close(loss.double(), expected_loss, rtol=1e-2, atol=0)
    assert torch.equal(right, expected_right)


@LONG
def test_pairs_are_judged_a_part_at_a_time() -> None:
    run = away_from_kinks(
        RunSettings(
            task=TaskSettings(modulus=12), network=TransformerSettings(16, 2, 1, "gelu", 0.37)
        )
    )
    engine, plain = DeepTransformer([run], DEVICE, "half"), PlainEngine([run], DEVICE, "float64")
    assert len(engine.pair_loss) == 2  # 144 pairs, 128 at a time
    (loss, right), (expected_loss, expected_right) = engine.all_pairs(), plain.all_pairs()
    torch.testing.assert_close(loss.double(), expected_loss, rtol=1e-2, atol=0)
    assert torch.equal(right, expected_right)


@LONG
def test_a_networks_bits_do_not_depend_on_its_company() -> None:
    network = TransformerSettings(16, 2, 1, "relu", 0.37)
    runs = [RunSettings(task=SHARED, network=network, seed=seed) for seed in range(3)]
    together, alone = (
        DeepTransformer(runs, DEVICE, "half"),
        DeepTransformer(runs[1:2], DEVICE, "half"),
    )
    loss, own_loss = together.loss_and_gradient(), alone.loss_and_gradient()
    assert torch.equal(loss[1], own_loss[0])
    assert torch.equal(together.gradients.flat[1], alone.gradients.flat[0])


@pytest.mark.parametrize(("width", "layers"), [(16, 2), (128, 2), (128, 4)])
def test_the_memory_of_a_network_is_estimated_on_the_high_side(width: int, layers: int) -> None:
    engine = DeepTransformer(
        [RunSettings(network=TransformerSettings(width, layers))], torch.device("cpu"), "half"
    )
    tensors = [
        *engine.memory.values(),
        *(value for layer in engine.layers for value in layer.values()),
    ]
    tensors += [part[name] for part in engine.parts for name in ("TOKENS", "LABELS")]
    tensors += [engine.half.flat, engine.partial.flat, engine.pair_loss, engine.pair_right]
    allocated = sum(value.nbytes for value in tensors)
    allocated += 8 * engine.parameters.flat.nbytes  # with moments and copies
    assert 1.0 <= 4 * engine.numbers_per_network(engine.task, engine.settings) / allocated < 2.0


def test_another_precision_is_an_error() -> None:
    with pytest.raises(InputError, match="precision is 'tf32'; this engine has half"):
        DeepTransformer(runs_of("two layers"), DEVICE, "tf32")


def test_what_it_cannot_train_is_told() -> None:
    cuda = torch.device("cuda")
    for network, reason in (
        (TransformerSettings(512, 2), "widths up to 256 with several layers, not 512"),
        (
            TransformerSettings(256, 2, 5),
            "widths up to 256 with several layers, not 256 in 5 heads",
        ),
        (TransformerSettings(128, 2, 16), "at most 8 heads, not 16"),
        (TransformerSettings(128, 1), "two layers or more, not 1"),
        (LinearSettings(), "transformers, not linear networks"),
    ):
        assert reason in str(DeepTransformer.unsupported(RunSettings(network=network), cuda))
    assert "128 outputs, not 131" in str(
        DeepTransformer.unsupported(
            RunSettings(TaskSettings(131), TransformerSettings(16, 2)), cuda
        )
    )
