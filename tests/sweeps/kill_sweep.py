"""Kill a sweep at random moments, finish it, and compare with one that was left in peace: the same rows, no stray file.

    .venv/bin/python tests/sweeps/kill_sweep.py --times 30

The tests do a few (`make test-slow`); this does as many as asked, prints each, and exits with 1 at the first difference.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from algophase.storage.runs_table import read_table
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
COMMAND = ["--device", "cpu", "--ensemble-size", "2", "--checkpoint-seconds", "0.001", "--keep-weights", "1"]
COMMAND += ["--snapshot", "30", "--snapshot", "90"]


def start(space: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "algophase", "sweep", str(space), "--out", str(out), *COMMAND]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)


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
    """Rows in order of index, those along training after them, and every file that is not a shard with its bytes."""
    table, moments = read_table(out).sort_by("index").to_pylist(), SweepDirectory(out).moments()
    table += [] if moments is None else moments.to_pylist()
    files = [path for path in out.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    return table, {str(path.relative_to(out)): path.read_bytes() for path in files}


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


def campaign(scratch: Path, times: int, seed: int = 0) -> bool:
    """Kill so many sweeps at random moments. False at the first that does not end in the table of one left in peace."""
    draw, space, reference = random.Random(seed), scratch / "tiny.toml", scratch / "undisturbed"
    space.write_text(SPACE)
    begun = time.monotonic()
    finish(space, reference)
    whole = time.monotonic() - begun
    killed = 0
    for number in range(1, times + 1):
        out, moment = scratch / f"killed-{number}", draw.uniform(0, 0.6 * whole)
        alive = kill_at(space, out, moment)
        killed += alive
        at_kill = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
        finish(space, out)
        found = difference(reference, out)
        state = f"killed with {len(at_kill)} files there" if alive else "had ended"
        print(f"{number:3}: {moment:5.2f} s after its directory appeared, {state}; {found or 'the same table'}", flush=True)
        if found:
            return False
    print(f"{killed} of {times} sweeps were killed alive; every one ended in the same table")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(0 if campaign(Path(scratch), options.times, options.seed) else 1)


if __name__ == "__main__":
    main()
