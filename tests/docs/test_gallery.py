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
from shard_files import provenance

from algophase.sweeps.shipped_spaces import SPACES

GALLERY = Path(__file__).parents[2] / "gallery"
CALL = re.compile(r"^\| ([\d,]+) \| `(.+)` \| (\w+) \| (\S+) \|$", re.MULTILINE)
NETWORK = re.compile(r"^\| `(\S+/\S+)` \|", re.MULTILINE)
LARGEST = 70_000_000
ON_A_CPU = ("emergence", "heads-short")
CONTINUED = {  # by a later commit, with --mix-versions: in the order of their shards
    "clock-training": ["657d996ad6e3", "699341eb"],
    "fixed-width": ["17d3bab696eb", "699341eb"],
    "gelu": ["657d996ad6e3", "699341eb"],
    "learnable-norm-arms": ["c5aed4f7", "92130599"],
    "pizza-training": ["657d996ad6e3", "699341eb"],
}


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


def test_every_arm_of_every_table_is_of_one_engine_and_every_table_of_the_commits_it_says() -> None:
    made: dict[tuple[str, int, int], set[tuple[str, ...]]] = {}
    commits: dict[str, list[str]] = {}
    for shard in sorted(GALLERY.glob("*/*/runs.parquet")):
        about = provenance(shard)
        space = json.loads((shard.parents[1] / "sweep.json").read_text())["space"]
        arms = len(space.get("arms", [])) or 1  # run i is arm i % arms
        columns = ["index", "modulus", "engine", "precision"]  # larger moduli need another engine
        for run in pq.read_table(shard, columns=columns).to_pylist():
            maker = about["version"], run["engine"], run["precision"]
            arm = shard.parts[-3], run["index"] % arms, run["modulus"]
            made.setdefault(arm, set()).add(maker)
        of_table = commits.setdefault(shard.parts[-3], [])
        if about["commit"] not in of_table:
            of_table.append(about["commit"])
    assert {arm: makers for arm, makers in made.items() if len(makers) > 1} == {}
    assert {name: made_by for name, made_by in commits.items() if len(made_by) > 1} == CONTINUED


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
