"""A sweep from Python; tests/cli/test_cli_sweep.py has the command's."""

from pathlib import Path

import pytest

from algophase import InputError, Runs, Space, load, sweep
from algophase.core.progress import Progress
from algophase.storage.sweep_directory import SweepDirectory

TINY = Space.from_dict(
    {
        "name": "tiny",
        "task": {"modulus": 7},
        "network": {"width": 8},
        "training": {"epochs": 5},
    }
)
MINE = """
name = "mine"
task = {modulus = 7}
network = {width = 8}
training = {epochs = 5}
"""


def test_it_makes_the_runs_of_a_space_and_continues(tmp_path: Path) -> None:
    standings: list[int] = []

    def watch(progress: Progress) -> None:
        standings.append(progress.done)

    first = sweep(TINY, tmp_path, runs=2, device="cpu", progress=watch)
    assert (first.ended, first.done, first.new) == ("complete", 2, 2)
    assert standings[-1] == 2
    more = sweep(TINY, str(tmp_path), runs=3, device="cpu", keep_weights="all")
    assert (more.done, more.new) == (3, 1)
    assert more.without_weights == 2  # made before weights were asked for
    runs = Runs.read(tmp_path)
    kept = [load(path) for path in SweepDirectory(tmp_path).kept_files().values()]
    assert len(runs) == 3
    assert [network.id for network in kept] == [runs["run_id"].iloc[2]]


def test_a_space_is_found_by_its_name_or_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    outcome = sweep(file, tmp_path / "out", runs=1, device="cpu", progress=False)
    assert outcome.new == 1
    with pytest.raises(InputError, match="space is 'absent'; choose one of"):
        sweep("absent", tmp_path / "other")


def test_an_unknown_executor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="executor is 'slurm'; choose local or ray"):
        sweep("fixed-width", tmp_path / "out", executor="slurm")
    assert not (tmp_path / "out").exists()
