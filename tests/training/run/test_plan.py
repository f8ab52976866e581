import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.settings import (
    ClockSettings,
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.networks import initialize
from algophase.networks.stacking import round_size
from algophase.training.engines import _in_half as in_half
from algophase.training.engines import sizing
from algophase.training.engines.fused import FusedTransformer
from algophase.training.run import plan as planning
from algophase.training.run.plan import ENGINES, choose_engine, choose_way, describe, plan
from algophase.training.run.train import train

CUDA = torch.device("cuda:0")


def a_run(
    network: NetworkSettings = TransformerSettings(width=8),
    epochs: int = 5,
    seed: int = 0,
    modulus: int = 5,
) -> RunSettings:
    return RunSettings(
        TaskSettings(modulus=modulus), network, TrainingSettings(epochs=epochs), seed
    )


def test_runs_that_differ_in_rate_and_seed_share_an_ensemble() -> None:
    runs = [a_run(TransformerSettings(width=8, attention_rate=i / 3), seed=i) for i in range(4)]
    (group,) = plan(runs, device="cpu")
    assert group.indices == (0, 1, 2, 3)
    assert group.engine == "grid"
    assert group.precision == "float32"


def test_other_depths_activations_tasks_and_epochs_are_grouped_apart_and_keep_their_places() -> (
    None
):
    runs = [
        a_run(),
        a_run(TransformerSettings(width=8, layers=2)),
        a_run(TransformerSettings(width=8, activation="gelu")),
        a_run(modulus=7),
        a_run(epochs=6),
        a_run(LinearSettings("alpha", 8, 8)),
        a_run(seed=3),
    ]
    groups = plan(runs, device="cpu")
    assert [group.indices for group in groups] == [(0, 6), (1,), (2,), (3,), (4,), (5,)]
    assert [group.engine for group in groups] == ["grid", "stacked", "grid", "grid", "grid", "grid"]
    assert all(group.runs == tuple(runs[i] for i in group.indices) for group in groups)


def test_every_task_has_ensembles_of_its_own() -> None:
    tasks = [TaskSettings(10, operation=operation) for operation in ("add", "subtract", "multiply")]
    tasks += [TaskSettings(10, training_fraction=0.5), TaskSettings(10, equals_sign=True)]
    tasks += [TaskSettings(10, equals_sign=True, outputs="modulus")]
    groups = plan([RunSettings(task, TransformerSettings(width=8)) for task in tasks], device="cpu")
    assert [group.indices for group in groups] == [(place,) for place in range(len(tasks))]


def test_a_group_of_more_than_128_elements_trains_without_the_fused_engine_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_half, "missing_triton", lambda: None)
    ways = []
    for group in ("S5", "D64", "D65"):
        run = RunSettings(TaskSettings(group=group), TransformerSettings(8))
        engine, precision = choose_way(run, "auto", CUDA, None)
        ways.append((engine, precision))
        ensemble = planning.PlannedEnsemble((0,), (run,), engine, CUDA, precision)
        (line,) = describe([ensemble])
    assert ways == [("fused", "half"), ("fused", "half"), ("stacked", "tf32")]
    assert line == (
        "training 1 network with the stacked engine on cuda:0 in tf32 (not the fused one: it "
        "takes at most 128 outputs, not 130)"
    )


def test_only_networks_padded_alike_share_an_ensemble() -> None:
    widths = [128, 8, 130, 24, 8, 160, 161, 120]
    runs = [a_run(TransformerSettings(width=width), seed=i) for i, width in enumerate(widths)]
    groups = plan(runs, device="cpu", ensemble_size=9)
    assert [[widths[i] for i in group.indices] for group in groups] == [
        [128],
        [8, 8],
        [130],
        [24],
        [160],
        [161],
        [120],
    ]
    rooms = {
        width: FusedTransformer.padded([run], CUDA).width  # type: ignore[attr-defined]
        for width, run in zip(widths, runs, strict=True)
    }
    assert rooms == {128: 128, 8: 64, 130: 256, 24: 64, 160: 256, 161: 256, 120: 128}
    linear = [a_run(LinearSettings("beta", 64, hidden)) for hidden in (100, 20, 100)]
    assert [group.indices for group in plan(linear, device="cpu", ensemble_size=9)] == [
        (0, 2),
        (1,),
    ]


@pytest.mark.parametrize(
    "size", [1, 16, 17, 59, 64, 127, 128, 129, 255, 256, 257, 500, 512, 1000, 1024]
)
def test_round_sizes_hold_a_network_and_waste_at_most_a_quarter(size: int) -> None:
    rounded = round_size(size)
    assert size <= rounded <= max(size + 15, 1.25 * size)
    assert round_size(rounded) == rounded
    assert rounded % 16 == 0


def test_ensembles_are_filled_up_to_the_limit() -> None:
    runs = [a_run(seed=seed) for seed in range(7)]
    assert [len(group.runs) for group in plan(runs, device="cpu", ensemble_size=3)] == [3, 3, 1]
    assert [len(group.runs) for group in plan(runs, "plain", "cpu", ensemble_size=3)] == [1] * 7


def largest(engine: str, run: RunSettings, device: torch.device, precision: str) -> int:
    return sizing.largest_ensemble(ENGINES[engine](run), run.task, run.network, device, precision)


def test_a_cpu_takes_few_large_networks_and_many_tiny_ones() -> None:
    cpu = torch.device("cpu")
    paper = RunSettings()
    assert 1 <= largest("grid", paper, cpu, "float32") <= 8
    assert largest("stacked", paper, cpu, "float32") == 1
    assert largest("grid", a_run(), cpu, "float32") == 64
    assert largest("plain", a_run(), cpu, "float32") == 1


def test_a_gpu_is_filled_within_its_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "_free_memory", lambda device: 139 * 2**30)
    assert largest("fused", RunSettings(), CUDA, "half") == 512
    four = RunSettings(network=TransformerSettings(layers=4))
    assert 32 <= largest("stacked", four, CUDA, "tf32") < 512
    assert largest("fused", four, CUDA, "half") == 512
    monkeypatch.setattr(sizing, "_free_memory", lambda device: 4 * 2**30)
    assert 64 < largest("fused", RunSettings(), CUDA, "half") < 512
    monkeypatch.setattr(sizing, "_free_memory", lambda device: 2**20)
    assert largest("stacked", four, CUDA, "tf32") == 1


def test_auto_picks_the_fastest_engine_that_supports_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        FusedTransformer, "unsupported", lambda run, device: None if device.type == "cuda" else "no"
    )
    cases: list[tuple[NetworkSettings, str, str]] = [
        (TransformerSettings(), "cuda", "fused"),
        (TransformerSettings(), "cpu", "grid"),
        (LinearSettings(), "cpu", "grid"),
    ]
    for network, device, expected in cases:
        precision = "half" if expected == "fused" else "float32"
        assert (
            choose_engine(RunSettings(network=network), "auto", torch.device(device), precision)
            == expected
        )
    monkeypatch.setattr(FusedTransformer, "unsupported", lambda run, device: "no")
    cases = [
        (TransformerSettings(), "cuda", "stacked"),
        (TransformerSettings(layers=2), "cuda", "stacked"),
        (TransformerSettings(layers=2), "cpu", "stacked"),
        (LinearSettings(), "cuda", "grid"),
    ]
    for network, device, expected in cases:
        assert (
            choose_engine(RunSettings(network=network), "auto", torch.device(device), "float32")
            == expected
        )


@pytest.mark.parametrize("equals_sign", [False, True])
def test_the_fused_engine_takes_every_layout_of_at_most_128_outputs(
    equals_sign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_half, "missing_triton", lambda: None)
    for task in (
        TaskSettings(equals_sign=equals_sign),
        TaskSettings(separate_vocabularies=True, equals_sign=equals_sign),
    ):
        assert choose_way(RunSettings(task=task), "auto", CUDA, None) == ("fused", "half")
    large = RunSettings(
        task=TaskSettings(
            64 if equals_sign else 65, separate_vocabularies=True, equals_sign=equals_sign
        )
    )
    assert (
        FusedTransformer.unsupported(large, CUDA)
        == f"it takes at most 128 outputs, not {130 - equals_sign}"
    )
    assert choose_way(large, "auto", CUDA, None) == ("stacked", "tf32")


def test_half_is_the_default_where_the_fused_engine_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_half, "missing_triton", lambda: None)
    cases: list[tuple[NetworkSettings, str, str | None, tuple[str, str]]] = [
        (TransformerSettings(), "auto", None, ("fused", "half")),
        (TransformerSettings(), "fused", None, ("fused", "half")),
        (TransformerSettings(), "auto", "tf32", ("stacked", "tf32")),
        (TransformerSettings(), "grid", "float32", ("grid", "float32")),
        (TransformerSettings(), "stacked", None, ("stacked", "tf32")),
        (TransformerSettings(width=2048), "auto", None, ("stacked", "tf32")),  # too wide for half
        (TransformerSettings(layers=2), "auto", None, ("fused", "half")),
        (TransformerSettings(layers=4), "fused", None, ("fused", "half")),
        (TransformerSettings(layers=2), "stacked", None, ("stacked", "tf32")),
        (TransformerSettings(layers=2), "auto", "tf32", ("stacked", "tf32")),
        (
            TransformerSettings(layers=2, width=512),
            "auto",
            None,
            ("stacked", "tf32"),
        ),  # too wide for half
        (LinearSettings(), "auto", None, ("fused", "half")),
        (LinearSettings(), "auto", "tf32", ("grid", "tf32")),
        (
            LinearSettings("beta", hidden=512),
            "auto",
            None,
            ("grid", "tf32"),
        ),  # too many units for half
    ]
    for network, engine, precision, expected in cases:
        assert choose_way(RunSettings(network=network), engine, CUDA, precision) == expected
    assert choose_way(RunSettings(), "auto", torch.device("cpu"), None) == ("grid", "float32")


@pytest.mark.parametrize("precision", ["tf32", "float32", "float64"])
def test_auto_leaves_a_precision_to_an_engine_that_has_it(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FusedTransformer, "unsupported", lambda run, device: None)
    assert choose_engine(RunSettings(), "auto", CUDA, precision) == "stacked"
    message = (
        rf"fused engine cannot train .*: it has precision half, not {precision}; choose "
        r"one of auto, plain, stacked, grid"
    )
    with pytest.raises(InputError, match=message):
        choose_engine(RunSettings(), "fused", CUDA, precision)
    with pytest.raises(
        InputError,
        match=r"grid engine cannot train .*: it has precision tf32 or float32 or float64, not half",
    ):
        choose_engine(RunSettings(), "grid", CUDA, "half")


def test_an_engine_that_cannot_train_a_run_says_why_and_which_can() -> None:
    deep = a_run(TransformerSettings(width=8, layers=2))
    with pytest.raises(
        InputError,
        match=r"grid engine cannot train run \w+: it trains one layer, not 2; choose one of "
        r"auto, plain",
    ):
        plan([a_run(), deep], "grid", "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_training_falls_back_and_says_so(said: list[str]) -> None:
    (group,) = plan([a_run()], "fused", "cuda:1", "tf32")
    assert (group.engine, group.device.type, group.precision) == ("grid", "cpu", "float32")
    assert [line.split(":")[-1] for line in said] == [
        " using the CPU instead",
        " training in float32 instead",
        " training with the grid engine instead",
    ]
    assert plan([a_run()])[0].device.type == "cpu"
    assert len(said) == 3  # auto promised no GPU
    with pytest.raises(InputError, match="device is 'cuda'; this machine has no GPU"):
        plan([a_run()], device="cuda", strict_device=True)


def test_without_triton_fused_falls_back_and_says_so(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(planning, "missing_triton", lambda: "Triton is not installed")
    assert planning._available("fused", CUDA) == "grid"
    assert "Triton is not installed" in said[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "warp"}, "engine is 'warp'; choose one of auto, plain, stacked, grid, fused"),
        ({"device": "tpu"}, "device is 'tpu'; choose one of auto, cpu, cuda"),
        (
            {"device": "cpu", "precision": "tf32"},
            "precision is 'tf32'; on cpu choose one of float32, float64",
        ),
        (
            {"device": "cpu", "precision": "half"},
            "precision is 'half'; on cpu choose one of float32, float64",
        ),
        ({"ensemble_size": 0}, "ensemble_size is 0; it must be an integer of at least 1"),
    ],
)
def test_bad_options_are_named_with_the_choices(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan([a_run()], **options)  # type: ignore[arg-type]


def test_only_runs_that_can_be_trained_are_taken() -> None:
    with pytest.raises(InputError, match="a clock network has nothing to train"):
        plan([a_run(ClockSettings())])
    with pytest.raises(InputError, match="it must be RunSettings"):
        plan([TransformerSettings()])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"runs is RunSettings\(.*; give a list of RunSettings"):
        train(RunSettings(), snapshot_epochs=[1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the run is None; it must be RunSettings"):
        initialize(None)  # type: ignore[arg-type]


def test_the_plan_is_told_in_words() -> None:
    runs = [a_run(seed=seed) for seed in range(5)] + [a_run(TransformerSettings(width=8, layers=2))]
    assert describe(plan(runs, device="cpu", ensemble_size=3)) == [
        "training 5 networks with the grid engine on cpu in float32, in 2 ensembles of at most 3",
        "training 1 network with the stacked engine on cpu in float32",
    ]


def test_every_engine_goes_by_its_own_name() -> None:
    for name, choose in ENGINES.items():
        assert choose(a_run()).name == name
        assert choose(a_run(LinearSettings())).name == name
