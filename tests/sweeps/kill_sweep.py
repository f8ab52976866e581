"""Kill the command `sweep`, finish it, and compare with one that was left in peace: the same rows,
no stray file.

tests/campaign kills a sweep in thousands of ways, in processes that are faster to start.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from shard_files import read_table

from algophase.storage.sweep_directory import SweepDirectory

SPACE = """
runs = 12
[task]
modulus = 7
[network]
width = { log_uniform = [8, 24], integer = true }
attention_rate = { uniform = [0, 1] }
[training]
epochs = 150
"""
# Ensembles of two and a checkpoint after every chunk of epochs, so that there is much to interrupt.
COMMAND = [
    "--device",
    "cpu",
    "--ensemble-size",
    "2",
    "--checkpoint-seconds",
    "0.001",
    "--keep-weights",
    "1",
]
COMMAND += ["--snapshot", "30", "--snapshot", "90"]


def start(space: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "algophase", "sweep", str(space), "--out", str(out), *COMMAND]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )


def finish(space: Path, out: Path) -> str:
    process = start(space, out)
    text, _ = process.communicate()
    assert process.returncode == 0, text.decode()
    return text.decode()


def kill_at(space: Path, out: Path, seconds: float) -> bool:
    """Kill a sweep some time after its directory appeared. False if it had ended by then."""
    process = start(space, out)
    while not (out / "sweep.json").exists() and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return alive


def contents(out: Path) -> tuple[list[dict[str, object]], dict[str, bytes]]:
    """Rows in order of index, those along training after them, and the bytes of every file that is
    not a table. Which runs share a shard may differ: on Ray, or after a killed merge.
    """
    table, moments = read_table(out).sort_by("index").to_pylist(), SweepDirectory(out).moments()
    table += [] if moments is None else moments.to_pylist()
    files: dict[str, bytes] = {}
    for path in out.rglob("*"):
        name = re.sub(r"^runs-[0-9]+-[0-9]+-[0-9a-f]{8}/", "", str(path.relative_to(out)))
        if path.is_file() and path.suffix != ".parquet":
            assert name not in files, f"{name} is there twice"
            files[name] = path.read_bytes()
    return table, files


def difference(reference: Path, other: Path) -> str | None:
    (rows, files), (other_rows, other_files) = contents(reference), contents(other)
    if files.keys() != other_files.keys():
        return f"files differ: {sorted(files.keys() ^ other_files.keys())}"
    if len(rows) != len(other_rows):
        return f"{len(other_rows)} rows, not {len(rows)}"
    for row, other_row in zip(rows, other_rows, strict=True):
        names = [name for name in row if row[name] != other_row.get(name)]
        if names or row.keys() != other_row.keys():
            return f"run {row['index']} differs in {names or sorted(row.keys() ^ other_row.keys())}"
    changed = sorted(name for name in files if files[name] != other_files[name])
    return f"the bytes of {changed} differ" if changed else None
