"""A network is trained on any finite group, swept, analyzed, compared and reported, as one that
adds is.
"""

from dataclasses import replace
from pathlib import Path

import kill_sweep
import pytest
import torch
from commands import invoke
from shard_files import read_table
from torch import Tensor

from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.core.task import all_pairs, split, tokens
from algophase.networks import Network
from algophase.runs.rows import analysis_of_row, run_from_row
from algophase.storage.sweep_directory import SweepDirectory
from algophase.training.engines.plain import train_one
from algophase.training.run.train import train

SPACE = """
runs = 6
[task]
group = {grid = ["S3", "Z2xZ2", "Z5"]}
[network]
width = 8
attention_rate = { uniform = [0, 1] }
[training]
epochs = 60
"""
RUN = RunSettings(
    TaskSettings(group="S3"), TransformerSettings(12, heads=2), TrainingSettings(epochs=300)
)


def _right(network: Network) -> Tensor:
    """Whether each pair is answered as the group says, (pairs,)."""
    group, pairs = network.task.finite_group, all_pairs(network.task.modulus)
    with torch.no_grad():
        answers = network(tokens(network.task, pairs)).argmax(dim=-1)
    return answers == group.sum(pairs[:, 0], pairs[:, 1])


@pytest.mark.parametrize("group", ["S3", "D5"])
def test_engines_agree_on_a_trained_network(group: str) -> None:
    """In float64: training amplifies rounding, and after 300 epochs nothing of it shows."""
    run = replace(RUN, task=TaskSettings(group=group))
    expected = dict(train_one(run, torch.float64).named_parameters())
    for engine in ("plain", "stacked", "grid"):
        (trained,) = train([run], engine=engine, device="cpu", precision="float64")
        assert trained.network is not None
        for name, value in trained.network.named_parameters():
            torch.testing.assert_close(value, expected[name].float(), rtol=1e-5, atol=1e-6)
        # Judged by the group's own table
        right = _right(trained.network)[split(run.task, run.seed).validation]
        assert trained.history.validation_accuracy[-1] == pytest.approx(right.float().mean().item())


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    (folder / "groups.toml").write_text(SPACE)
    out = folder / "out"
    done = invoke(
        *("sweep", folder / "groups.toml", "--out", out, "--device", "cpu"),
        *("--snapshot", 20, "--keep-weights", "all"),
    )
    assert done.exit_code == 0, done.output
    return out


def test_a_sweep_over_groups_has_their_columns(swept: Path) -> None:
    rows = read_table(swept).sort_by("index").to_pylist()
    assert [row.get("group") for row in rows] == ["S3", "Z2xZ2", None] * 2
    assert [row["modulus"] for row in rows] == [6, 4, 5] * 2
    for row in rows:
        assert row["verdict"] is not None
        assert run_from_row(row).run_id == row["run_id"]
        analysis = analysis_of_row(row)
        assert analysis is not None
        if row.get("group") is None:
            assert analysis.on_group is None
            continue
        assert analysis.on_group is not None
        assert analysis.on_group.name == row["group"] == row["on_group.name"]
        assert analysis.on_group.accuracy == row["accuracy"]
        assert len(row["on_group.instances.adding"]) == len(analysis.on_group.instances)


def test_it_is_read_by_every_command(swept: Path, tmp_path: Path) -> None:
    listed = invoke("runs", swept, "--where", "group=S3").output
    assert "2 of 6 runs meet group=S3" in listed
    assert "by the paper's rules: not learned 2" in listed
    assert "(group S3; no other settings have more)" in str(
        invoke("compare", swept, swept).exception
    )
    laws = invoke("laws", swept)
    assert "accurate networks with key frequencies" in str(laws.exception)
    assert invoke("report", swept, "--out", tmp_path / "report.html").exit_code == 0
    first = read_table(swept).to_pylist()[0]
    again = invoke("retrain", swept, first["run_id"], "--force", "--device", "cpu")
    assert again.exit_code == 0, again.output


@pytest.mark.slow
def test_killed_and_resumed_it_is_the_same(tmp_path: Path) -> None:
    space = tmp_path / "groups.toml"
    space.write_text(SPACE.replace("epochs = 60", "epochs = 400"))
    kill_sweep.finish(space, tmp_path / "whole")
    assert kill_sweep.kill_at(space, tmp_path / "killed", 0.5)
    kill_sweep.finish(space, tmp_path / "killed")
    assert kill_sweep.difference(tmp_path / "whole", tmp_path / "killed") is None


def test_along_training_a_group_has_no_circles_and_its_hidden_layer_no_waves(
    tmp_path: Path,
) -> None:
    space = tmp_path / "groups.toml"
    space.write_text(SPACE)
    options = ("--device", "cpu", "--hidden", "--snapshot", 20)
    done = invoke("sweep", space, "--out", tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    rows = read_table(tmp_path / "out").sort_by("index").to_pylist()
    assert [row["hidden.aligned"] is None for row in rows] == [True, True, False] * 2
    moments = SweepDirectory(tmp_path / "out").moments()
    assert moments is not None
    for moment in moments.to_pylist():
        assert bool(moment["pairs.frequency"]) == (moment["modulus"] == 5)
        assert moment["accuracy_without_accompanying"] is not None
