"""Small files that ask for gigabytes: each is refused in one line, and the process stays below a
gigabyte.
"""

import json
import random
from pathlib import Path

import network_bombs
import pytest
from commands import python
from network_bombs import PICKLED, SAFETENSORS

MOST_MEGABYTES = 1000
ISSUE = (
    "asked_for_bytes",
    "empty_weights",
    "overlapping_records",
    "layers_on_one_storage",
    "layer_names",
)
CHEAP = (
    *ISSUE,
    "record_too_short",
    "key_of_tuples",
    "shared_pairs",
    "asked_for_storage",
    "old_format",
    "described_layers",
    "many_numbers",
)


def check(files: list[Path]) -> None:
    """The files are read one after the other by one process, so that its peak is that of the
    worst.
    """
    done = python(network_bombs.__file__, *files)
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in outcomes] == [file.name for file in files]
    for name, became, megabytes in outcomes:
        assert became.startswith("refused: "), (name, became)
        assert "\n" not in became, name
        assert megabytes < MOST_MEGABYTES, name


def made(folder: Path, names: tuple[str, ...], seeds: int) -> list[Path]:
    files = list[Path]()
    for makers, suffix in ((PICKLED, ".pt"), (SAFETENSORS, ".safetensors")):
        for make in makers:
            for seed in range(seeds if make.__name__ in names else 0):
                files.append(folder / f"{make.__name__}-{seed}{suffix}")
                make(files[-1], random.Random(seed))
    return files


def test_small_files_do_not_take_gigabytes(tmp_path: Path) -> None:
    check(made(tmp_path, CHEAP, seeds=1))


@pytest.mark.slow
def test_no_bomb_takes_a_gigabyte(tmp_path: Path) -> None:
    check(made(tmp_path, tuple(make.__name__ for make in (*PICKLED, *SAFETENSORS)), seeds=3))
