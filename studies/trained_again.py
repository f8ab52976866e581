"""Are the gallery's networks what its settings give? Runs drawn from all tables, trained again.

    python studies/trained_again.py                        # 64 runs, as long as it takes
    python studies/trained_again.py --minutes 5 --seed 12  # others, for so long: needs an H200
    python studies/trained_again.py gelu moduli --runs 8   # some tables
    python studies/trained_again.py separate-vocabularies --runs 2 --seed 11 --repeat 20

Every table that was made on a GPU gives one run at least, a large table more. Of a table whose rows
have a digest of the weights, networks are compared to the bit. Where they have none, all numbers of
the analysis are compared. A network that differs is listed with the columns that do.

`--repeat` trains the same runs several times. If a run is the table's network at one time and
another one at the next, suspect a race between kernels: its settings decide its bits.
"""

import argparse
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from algophase import InputError, retrain_sample
from algophase.core.gallery import shipped_sweeps
from algophase.core.wording import counted
from algophase.storage.runs_table import OpenTable
from algophase.sweeps.retrain import Sample

ROOT = Path(__file__).parents[1]
COLUMNS_SHOWN = 4


def shares(sizes: Sequence[int], runs: int) -> list[int]:
    """How many runs to draw of tables of these sizes: one of each, and the rest by their sizes."""
    rest = max(0, runs - len(sizes))
    bounds = [0]
    for size in sizes:
        bounds.append(bounds[-1] + size)
    marks = [round(rest * bound / bounds[-1]) for bound in bounds]
    drawn = [1 + stop - start for start, stop in pairwise(marks)]
    return [min(number, size) for number, size in zip(drawn, sizes, strict=True)]


def is_made_on_a_gpu(table: Path) -> bool:
    """Runs of the others would train on a CPU, for minutes."""
    devices = OpenTable(table).read(["device"])["device"].unique().to_pylist()
    return devices == ["cuda"]


def lines_of(sample: Sample) -> list[str]:
    """What differs in the networks that are not the table's, and why they may."""
    lines = []
    for index, difference in sample.differences.items():
        if difference.same:
            continue
        columns = list(difference.differing)
        listed = ", ".join(columns[:COLUMNS_SHOWN])
        if len(columns) > COLUMNS_SHOWN:
            listed += f" and {len(columns) - COLUMNS_SHOWN} more"
        lines.append(f"  run {index}: {difference}: {listed}")
    return [*lines, *(f"  {note}" for note in sample.notes)]


def train_again(
    names: Sequence[str],
    tables: Path,
    runs: int,
    seed: int,
    minutes: float | None,
    repeat: int = 1,
) -> None:
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    sizes = [len(OpenTable(tables / name).read(["index"])) for name in names]
    total = to_the_bit = same = 0
    samples = list(zip(names, shares(sizes, runs), strict=True))
    for name, count in samples * repeat:
        if deadline is not None and time.monotonic() > deadline:
            print(f"{name}: no time left")
            continue
        start = time.monotonic()
        try:
            sample = retrain_sample(tables / name, count, seed=seed)
        except InputError as error:
            print(f"{name}: {error}")
            continue
        total += count
        to_the_bit += sample.to_the_bit
        same += sample.same
        seconds = time.monotonic() - start
        result = f"{sample.to_the_bit} to the bit, {sample.same - sample.to_the_bit} up to rounding"
        print(f"{name}: of {counted(count, 'run')} {result}; {seconds:.0f} s", flush=True)
        for line in lines_of(sample):
            print(line)
    rounding = same - to_the_bit
    print(f"all: of {total} runs {to_the_bit} to the bit, {rounding} up to rounding")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="tables; all by default")
    parser.add_argument("--tables", type=Path, default=ROOT / "gallery")
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--repeat", type=int, default=1, help="how often to train the same runs")
    chosen = parser.parse_args()
    names = chosen.names or [
        name for name in shipped_sweeps() if is_made_on_a_gpu(chosen.tables / name)
    ]
    train_again(names, chosen.tables, chosen.runs, chosen.seed, chosen.minutes, chosen.repeat)


if __name__ == "__main__":
    main()
