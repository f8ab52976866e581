"""What `algophase sweep` says at its end, and what it refuses before it begins."""

from pathlib import Path

import pytest
from commands import invoke
from shard_files import read_table
from typer.testing import Result

from algophase.storage.runs_table import shard_paths
from algophase.storage.sweep_directory import SweepDirectory

SPACE = """
[task]
modulus = 7
[network]
width = 8
attention_rate = {uniform = [0, 1]}
[training]
epochs = 20
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    path = tmp_path / "mini.toml"
    path.write_text(SPACE)
    return path


def sweep(space: Path, runs: int, *options: object) -> Result:
    out = space.parent / "out"
    return invoke("sweep", space, "--out", out, "--device", "cpu", "--runs", runs, *options)


def lacking(result: Result) -> int:
    """How many runs it says have no weights."""
    assert result.exit_code == 0, result.output + str(result.exception)
    said = [line for line in result.stdout.splitlines() if "were not kept" in line]
    return int(said[0].split()[3]) if said else 0


def test_runs_asked_for_whose_weights_were_not_kept_are_told_whatever_else_was_kept(
    space: Path,
) -> None:
    assert lacking(sweep(space, 4)) == 0  # none were asked for
    assert lacking(sweep(space, 8, "--keep-weights", "all")) == 4
    assert lacking(sweep(space, 4, "--keep-weights", "all")) == 4
    assert lacking(sweep(space, 6, "--keep-weights", "all")) == 4
    assert lacking(sweep(space, 8, "--part", "1/4", "--keep-weights", "all")) == 1


def test_a_run_that_diverged_lacks_no_weights_and_makes_up_for_none(space: Path) -> None:
    sweep(space, 3)
    sweep(space, 4, "--keep-weights", "all")
    directory = SweepDirectory(space.parent / "out")
    rows = read_table(directory.path).to_pylist()
    for shard in shard_paths(directory.path):
        if (shard.parent / "networks").exists():
            (shard.parent / "networks").rename(directory.networks)
        shard.unlink()
    lost = [row["index"] in (0, 3) for row in rows]  # one without weights, one with
    rows = [
        row | {"verdict": None, "paper_label": None, "diverged_at": 3} if diverged else row
        for row, diverged in zip(rows, lost, strict=True)
    ]
    directory.add(rows, {})
    assert lacking(sweep(space, 4, "--keep-weights", "all")) == 2


@pytest.mark.parametrize(
    ("options", "given"),
    [(("--shard", 4), "shard is 4"), (("--address", "auto", "--shard", 4), "address is 'auto'")],
)
def test_options_of_ray_are_refused_without_it(
    space: Path, options: tuple[object, ...], given: str
) -> None:
    result = sweep(space, 2, *options)
    assert (
        str(result.exception)
        == f"{given}, but executor is local; --address and --shard go with --executor ray"
    )
    assert not (space.parent / "out").exists()


@pytest.mark.parametrize("runs", [0, 1_000_001, 10**12])
def test_more_runs_than_can_be_drawn_are_refused_at_once(space: Path, runs: int) -> None:
    result = sweep(space, runs)
    assert str(result.exception) == f"runs is {runs}; it must be an integer from 1 to 1,000,000"
    assert not (space.parent / "out").exists()


def test_drawing_many_runs_is_announced(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("algophase.sweeps.make.MANY", 2)
    assert "drawing the settings of 3 runs before the first is trained" in sweep(space, 3).stderr
    assert "drawing the settings" not in sweep(space, 2).stderr
