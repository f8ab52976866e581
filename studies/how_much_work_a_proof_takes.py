"""How much of a network a compact proof reaches, and at what share of brute force's work.

    python studies/how_much_work_a_proof_takes.py gallery/exhibits gallery/fixed-width/networks

It takes networks and directories of networks, and prints a row for each network and the shares of
the accurate ones that reach 95% of their pairs at 25% and at a third of the work. --check runs
`certificates/check.py` on every certificate too. --processes 16 certifies so many networks at once,
each on one thread: 256 fresh networks fit into one call on a machine with a GPU.

    algophase sweep fixed-width --seed 41 --runs 256 --keep-weights all --out fresh
    python studies/how_much_work_a_proof_takes.py --processes 16 fresh
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from algophase import InputError, certify, load
from algophase.analysis.operation import on_its_group
from algophase.core.threads import in_processes

ROOT = Path(__file__).parents[1]
SUFFIXES = (".safetensors", ".pt", ".pth")
ACCURATE = 0.99
REACHED = 0.95
LINES = {"25%": 0.25, "a third": 1 / 3}


@dataclass(frozen=True)
class Row:
    """One network. reached: share of all pairs that its compact proof proves right; work: of brute
    force's; verdict: the checker's.
    """

    name: str
    kind: str
    accuracy: float
    reached: float
    work: float
    seconds: float
    verdict: str


def networks_in(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        files += inside if path.is_dir() else [path]
    return files


def measured(path: Path, check: bool) -> Row | str:
    """The row of a network, or why it has none."""
    try:
        network = on_its_group(load(path))
    except InputError as error:
        return f"{path}: {error}"
    start = time.perf_counter()
    certificate = certify(network)
    seconds = time.perf_counter() - start
    compact = certificate.compact or {"proved_right": 0, "operations_share": 1.0}
    settings = network.settings
    words = [settings.title, network.task.described, getattr(settings, "activation", "")]
    if hasattr(settings, "attention_rate"):
        words.append(f"rate {settings.attention_rate:.2f}")
    verdict = ""
    if check:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "certificate.json"
            certificate.save(file)
            checker = ROOT / "certificates" / "check.py"
            command = [sys.executable, str(checker), str(path), str(file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            verdict = done.stdout.partition(":")[0]
    return Row(
        network.id,
        ", ".join(word for word in words if word),
        certificate.proved_right / certificate.pairs,
        compact["proved_right"] / certificate.pairs,
        compact["operations_share"],
        seconds,
        verdict,
    )


def summary(rows: list[Row]) -> list[str]:
    accurate = [row for row in rows if row.accuracy >= ACCURATE]
    lines = [f"{len(accurate)} of {len(rows)} networks are right on {ACCURATE:.0%} of the pairs"]
    if not accurate:
        return lines
    for words, most in LINES.items():
        good = [row for row in accurate if row.reached >= REACHED and row.work <= most]
        share = len(good) / len(accurate)
        lines.append(
            f"at most {words} of the work, at least {REACHED:.0%} of the pairs: {len(good)} of "
            f"{len(accurate)} ({share:.0%})"
        )
    work = [row.work for row in accurate if row.reached >= REACHED]
    if work:
        lines.append(f"median work where that many are reached: {np.median(work):.1%}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    print("| network | what | proved right | by the compact proof | at work | seconds | checker |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    measure = partial(measured, check=chosen.check)
    for row in in_processes(measure, networks_in(chosen.paths), chosen.processes):
        if isinstance(row, str):
            print(row, file=sys.stderr)
            continue
        rows.append(row)
        shares = f"{row.accuracy:.2%} | {row.reached:.2%} | {row.work:.1%}"
        print(f"| {row.name} | {row.kind} | {shares} | {row.seconds:.1f} | {row.verdict} |")
        sys.stdout.flush()
    print("\n".join(["", *summary(rows)]))


if __name__ == "__main__":
    main()
