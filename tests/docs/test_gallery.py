"""What `gallery/README.md` says of its tables is what their shards say of themselves."""

import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from algophase.storage.runs_table import provenance

GALLERY = Path(__file__).parents[2] / "gallery"
SITTING = re.compile(r"^\| ([\d,]+) \| `(.+)` \| (\w+) \| (\S+) \|$", re.MULTILINE)
NETWORK = re.compile(r"^\| `(\S+/\S+)` \|", re.MULTILINE)
LARGEST = 22_000_000


def test_every_sitting_is_listed() -> None:
    made = Counter[tuple[str, str, str]]()
    for shard in GALLERY.glob("*/*.parquet"):
        sitting = provenance(shard)
        assert sitting["device"] == "NVIDIA H200"
        made[sitting["command"], sitting["commit"], sitting["date"][:10]] += pq.read_metadata(shard).num_rows
    rows = SITTING.findall((GALLERY / "README.md").read_text())
    listed = {(command, commit, date): int(runs.replace(",", "")) for runs, command, commit, date in rows}
    assert len(listed) == len(rows)
    assert listed == made


def test_every_network_is_listed() -> None:
    kept = {str(path.relative_to(GALLERY).with_suffix("")) for path in GALLERY.glob("*/networks/*.safetensors")}
    kept |= {str(path.relative_to(GALLERY)) for path in GALLERY.glob("*/*.plates")}
    listed = NETWORK.findall((GALLERY / "README.md").read_text())
    assert all(any(name.startswith(one) for one in listed) for name in kept)
    assert all(any(name.startswith(one) for name in kept) for one in listed)


def test_it_is_small() -> None:
    files = [path for path in GALLERY.rglob("*") if path.is_file() and ".checkpoints" not in path.parts]
    assert sum(path.stat().st_size for path in files) < LARGEST
