import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from runs_made import row, sweep_of

from algophase.analysis.analyze import analyze
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.runs.rows import make_row
from algophase.sweeps.retrain import (
    choose,
    find_run,
    retrain,
    retrain_sample,
    train_again,
)
from algophase.training.run.train import train

RUN = RunSettings(
    TaskSettings(7), TransformerSettings(8, attention_rate=0.5), TrainingSettings(epochs=20), seed=4
)


def test_a_run_is_found_by_index_id_or_the_beginning_of_its_id(tmp_path: Path) -> None:
    rows = [row(index) for index in range(4)]
    sweep_of(tmp_path, rows[2:], rows[:2])
    for index in range(4):
        name = rows[index]["run_id"]
        for given in (str(index), name, name[:6]):
            assert find_run(tmp_path, given) == rows[index]


def test_digits_are_an_index_first_and_a_short_number_is_nothing_else(tmp_path: Path) -> None:
    rows = [
        row(12, run_id="123456789abc"),
        row(123, run_id="129999999999"),
        row(5, run_id="77770000ffff"),
    ]
    sweep_of(tmp_path, rows)
    assert find_run(tmp_path, "12")["index"] == 12
    assert find_run(tmp_path, "123")["index"] == 123
    assert find_run(tmp_path, "1234")["index"] == 12
    assert find_run(tmp_path, "129999999999")["index"] == 123
    assert find_run(tmp_path, "7777")["index"] == 5
    for name in ("7", "777", "1", "99", "ffff", "", "7777-", "-1", "²"):
        with pytest.raises(
            InputError,
            match=r"no run '.*' in .* 3: index 5 to 123, such as 5 or 77770000ffff",
        ):
            find_run(tmp_path, name)


def test_a_beginning_of_several_ids_is_told(tmp_path: Path) -> None:
    sweep_of(tmp_path, [row(0, run_id="abcd00000000"), row(1, run_id="abcd11111111")])
    with pytest.raises(
        InputError,
        match=r"'abcd' .*2 run ids in .*: abcd00000000, abcd11111111",
    ):
        find_run(tmp_path, "abcd")


def test_the_row_says_how_to_train() -> None:
    told = {"engine": "stacked", "device": "cpu", "precision": "float64"}
    group, note = choose(RUN, told, None, None, None)
    assert (group.engine, group.device.type, group.precision, note) == (
        "stacked",
        "cpu",
        "float64",
        None,
    )
    group, note = choose(RUN, told, "grid", "cpu", "float32")
    assert (group.engine, group.precision) == ("grid", "float32")
    assert note is not None
    assert (
        "engine stacked device cpu precision float64, this one with engine grid device cpu "
        "precision float32" in note
    )
    assert note.endswith("rounding differs, and training amplifies it")


def test_what_is_not_here_is_replaced_with_a_note(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    group, note = choose(
        RUN, {"engine": "fused", "device": "cuda", "precision": "tf32"}, None, None, None
    )
    assert (group.engine, group.device.type, group.precision) == ("grid", "cpu", "float32")
    assert note is not None
    assert "engine fused device cuda precision tf32" in note
    assert note.endswith("rounding differs, and training amplifies it")
    group, note = choose(
        RUN, {"engine": "warp", "device": "tpu", "precision": "int4"}, None, None, None
    )
    assert (group.engine, group.device.type, group.precision) == ("grid", "cpu", "float32")
    group, note = choose(RUN, {}, None, None, None)  # a table that does not say
    assert group.engine == "grid"
    assert note is not None
    assert "engine unknown" in note
    said.clear()
    assert choose(RUN, {}, None, "cuda", "tf32")[0].precision == "float32"
    assert said == [
        "no GPU was found for device cuda: using the CPU instead",
        "precision tf32 needs a GPU: training in float32 instead",
    ]
    with pytest.raises(InputError, match="this machine has no GPU"):
        choose(RUN, {}, None, "cuda", None, strict_device=True)
    for options in (("warp", None, None), (None, "tpu", None), (None, None, "int4")):
        with pytest.raises(InputError, match=r"; (on cpu )?choose one of"):
            choose(RUN, {"engine": "grid", "device": "cpu", "precision": "float32"}, *options)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    (trained,) = train([RUN], device="cpu")
    assert trained.network is not None
    return dict(make_row("s", 0, trained, analyze(trained.network)))


def test_the_same_machine_gives_the_same_network(made: dict[str, Any]) -> None:
    group, note = choose(RUN, made, None, None, None)
    assert note is None
    (again,) = train_again([made], [group])
    difference = again.difference
    assert again.trained.run == RUN
    assert again.analysis is not None
    assert again.problem is None
    assert difference.same
    assert difference.differing == {}
    assert difference.compared > 20
    assert difference.outcome == "identical"
    assert difference.same_weights is True
    assert str(difference).startswith(f"identical: all {difference.compared} numbers")


def test_a_run_that_diverges_does_so_again() -> None:
    run = replace(RUN, training=TrainingSettings(epochs=4, learning_rate=1e30))
    (first,) = train([run], device="cpu")
    before = make_row("s", 3, first, None)
    (again,) = train_again([before], [choose(run, before, None, None, None)[0]])
    assert again.trained.diverged_at == first.diverged_at is not None
    assert again.analysis is None
    assert again.difference.same
    assert (
        again.problem
        == f"training diverged at epoch {first.diverged_at}: there is no network to show"
    )


def test_a_run_is_brought_back_into_its_sweep(tiny: Path, tmp_path: Path, said: list[str]) -> None:
    sweep = shutil.copytree(tiny, tmp_path / "sweep")
    there = retrain(sweep, "0")
    assert there.made is None
    assert there.path is not None
    assert retrain(sweep, "0", tmp_path / "out").copy == tmp_path / "out" / there.path.name
    assert said == []
    restored = retrain(sweep, "1")
    assert restored.index == 1
    assert restored.as_before
    assert restored.path == sweep / "networks" / f"{restored.run_id}.safetensors"
    assert restored.made is not None
    assert restored.made.difference.same
    assert said == ["training 1 network with the grid engine on cpu in float32"]
    other = retrain(sweep, "2", precision="float64")
    assert other.path == sweep / "retrained" / f"{other.run_id}.safetensors"
    assert not other.as_before
    assert any("rounding differs" in line for line in said)


def test_a_sample_is_compared_with_its_rows_and_nothing_is_saved(
    tmp_path: Path, said: list[str]
) -> None:
    runs = [replace(RUN, seed=seed) for seed in range(4)]
    trained = train(
        runs, "plain", "cpu"
    )  # one network after the other: rounding does not depend on the company
    rows = [
        dict(make_row("s", 10 + place, one, analyze(one.network)))
        for place, one in enumerate(trained)
        if one.network
    ]
    rows[0]["circularity"] = 0.5  # an analysis that another version made, of the same weights
    rows[1] |= {"circularity": 0.5, "weights_digest": "0" * 16}  # another network
    sweep_of(tmp_path, rows)
    before = sorted(tmp_path.rglob("*"))
    whole = retrain_sample(tmp_path, 4)
    outcomes = {index: difference.outcome for index, difference in whole.differences.items()}
    assert outcomes == {10: "same weights", 11: "another", 12: "identical", 13: "identical"}
    assert (whole.runs, whole.same, whole.to_the_bit, whole.identical) == (4, 3, 3, 2)
    assert whole.notes == ()
    assert len({tuple(retrain_sample(tmp_path, 2, seed=seed).differences) for seed in range(6)}) > 1
    said.clear()
    other = retrain_sample(tmp_path, 2, precision="float64")
    assert other.identical == 0
    assert other.notes == tuple(said[:1])
    assert "rounding differs" in said[0]
    assert sorted(tmp_path.rglob("*")) == before
    for count in (0, -1, 5):
        with pytest.raises(InputError, match=rf"sample is {count}; .*choose 1 to 4"):
            retrain_sample(tmp_path, count)
