"""What `gallery/README.md` says of its tables is what their shards say of themselves."""

import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from runs_made import TINY, row, sweep_of
from scipy import stats
from shard_files import provenance

from algophase.runs.runs import Runs
from algophase.sweeps.shipped_spaces import SPACES

GALLERY = Path(__file__).parents[2] / "gallery"
CALL = re.compile(r"^\| ([\d,]+) \| `(.+)` \| (\w+) \| (\S+) \|$", re.MULTILINE)
NETWORK = re.compile(r"^\| `(\S+/\S+)` \|", re.MULTILINE)
LARGEST = 90_000_000
# Tables that a later commit continued: the runs of the first commits come first. That their engine
# trains the same networks was measured (gallery/README.md); here their populations are compared.
CONTINUED = {
    "fixed-width": 3728,
    "gelu": 250,
    "clock-training": 96,
    "pizza-training": 96,
    "learnable-norm-arms": 680,
    "varying-width": 700,
    "layers-2": 120,
    "separate-vocabularies": 250,
    "equals-sign": 250,
    "data": 350,
    "decay": 350,
    "hidden-layer": 250,
    "moduli": 780,
}
COMPARED = ("gradient_symmetricity", "distance_irrelevance", "parameter_norm", "additivity")
ON_A_CPU = ("emergence", "heads-short")


def test_every_call_is_listed() -> None:
    made = Counter[tuple[str, str, str]]()
    for shard in GALLERY.glob("*/*/runs.parquet"):
        call = provenance(shard)
        assert call["device"] == (
            "CPU, 2 threads" if shard.parts[-3] in ON_A_CPU else "NVIDIA H200"
        )
        made[call["command"], call["commit"], call["date"][:10]] += pq.read_metadata(shard).num_rows
    rows = CALL.findall((GALLERY / "README.md").read_text())
    listed = {
        (command, commit, date): int(runs.replace(",", "")) for runs, command, commit, date in rows
    }
    assert len(listed) == len(rows)
    assert listed == made


def test_every_arm_of_every_table_is_of_one_commit_and_one_engine() -> None:
    """Which engine can train a network depends on its modulus, so each modulus has one."""
    made: dict[tuple[str, int, int], set[tuple[str, ...]]] = {}
    columns = ["index", "modulus", "engine", "precision"]
    for shard in GALLERY.glob("*/*/runs.parquet"):
        about = provenance(shard)
        space = json.loads((shard.parents[1] / "sweep.json").read_text())["space"]
        arms = len(space.get("arms", [])) or 1  # run i is arm i % arms
        for run in pq.read_table(shard, columns=columns).to_pylist():
            maker = about["commit"], about["version"], run["engine"], run["precision"]
            arm = shard.parts[-3], run["index"] % arms, run["modulus"]
            made.setdefault(arm, set()).add(maker)
    engines = {arm: {maker[1:] for maker in makers} for arm, makers in made.items()}
    assert {arm: several for arm, several in engines.items() if len(several) > 1} == {}
    by_table: dict[str, set[str]] = {}
    for (name, *_), makers in made.items():
        by_table.setdefault(name, set()).update(commit for commit, *_ in makers)
    assert {name for name, commits in by_table.items() if len(commits) > 1} == CONTINUED.keys()


@pytest.mark.parametrize("name", sorted(CONTINUED.keys() - {"learnable-norm-arms"}))  # it has arms
def test_a_continued_table_is_of_one_population(name: str) -> None:
    """Kolmogorov-Smirnov tests at 1%, corrected for their number."""
    runs = Runs.read(GALLERY / name).frame
    added = runs[runs["index"] >= CONTINUED[name]]
    # a sweep over moduli may have stopped early
    runs = runs[runs["modulus"].isin(added["modulus"])]
    is_new = runs["index"] >= CONTINUED[name]
    assert is_new.any()
    for column in COMPARED:
        before, after = (runs[column][chosen].dropna() for chosen in (~is_new, is_new))
        assert stats.ks_2samp(before, after).pvalue > 0.01 / len(CONTINUED) / len(COMPARED)


# In place of the interpreter: a table of half of what its space asks for, which the next call
# completes.
SWEEP = """#!/usr/bin/env bash
echo "$@" >> log
mkdir -p "$6"
printf '{\\n "space": {\\n  "runs": 40,\\n }\\n}\\n' > "$6/sweep.json"
shard="$6/runs-00000$(ls "$6" | wc -l)-20-abc"
mkdir "$shard"
touch "$shard/runs.parquet"
"""


def make(place: Path, *arguments: str, **variables: str) -> list[str]:
    """The sweeps that gallery/make.sh asks for."""
    (place / "python").write_text(SWEEP)
    (place / "python").chmod(0o755)
    (place / "log").write_text("")
    environment = {
        **os.environ,
        "PYTHON": "./python",
        "TABLES": "made",
        "ALGOPHASE_COMMIT": "abc",
        **variables,
    }
    subprocess.run(
        ["bash", GALLERY / "make.sh", *arguments],
        cwd=place,
        env=environment,
        check=True,
        capture_output=True,
    )
    return [line.split()[3] for line in (place / "log").read_text().splitlines()]


def test_the_script_makes_every_space_and_skips_what_is_complete(tmp_path: Path) -> None:
    first = make(tmp_path, "9")
    # arms in another precision each: studies/make_training_choices.sh
    assert sorted(first) == sorted(SPACES.keys() - {"float64-arms"})
    assert first[:2] == ["fixed-width", "varying-width"]
    assert make(tmp_path, "9", "gelu", "wide", ARCHIVE="archive") == ["gelu", "wide"]
    assert make(tmp_path, "9", "layers-2", "gelu") == ["layers-2"]
    assert "--mix-versions" not in (tmp_path / "log").read_text()
    assert make(tmp_path, "9", "heads", MIX="1") == ["heads"]
    assert "--mix-versions" in (tmp_path / "log").read_text()
    assert make(tmp_path, "0.5", "layers-3") == []  # too little time
    sweep_of(tmp_path / "made" / "real", [row(0)], [row(1)], space=replace(TINY, runs=2))
    assert make(tmp_path, "9", "real") == []
    (archive,) = tmp_path.glob("archive*")
    listed = subprocess.run(
        ["tar", "--list", "--file", archive], check=True, capture_output=True, text=True
    ).stdout.split()
    assert {"made/gelu/sweep.json", "made/gelu/runs-000001-20-abc/runs.parquet"} < set(listed)


def test_the_script_asks_for_the_commit_where_no_repository_says_it(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        make(tmp_path, "9", ALGOPHASE_COMMIT="", GIT_DIR=str(tmp_path / "none"))
    assert b"say in ALGOPHASE_COMMIT" in refused.value.stderr


def test_every_network_is_listed() -> None:
    kept = {
        str(path.relative_to(GALLERY).with_suffix("")) for path in GALLERY.rglob("*.safetensors")
    }
    kept |= {str(path.relative_to(GALLERY)) for path in GALLERY.glob("*/*.plates")}
    listed = NETWORK.findall((GALLERY / "README.md").read_text())
    assert all(any(name.startswith(one) for one in listed) for name in kept)
    assert all(any(name.startswith(one) for name in kept) for one in listed)


def test_it_is_small() -> None:
    files = [
        path for path in GALLERY.rglob("*") if path.is_file() and ".checkpoints" not in path.parts
    ]
    assert sum(path.stat().st_size for path in files) < LARGEST
