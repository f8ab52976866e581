"""What a sweep costs beside training: analysis, sampling, planning, writing, as shares of the
training time.

    .venv/bin/python benchmarks/sweep.py                          # all of the paper's spaces, shortened
    .venv/bin/python benchmarks/sweep.py fixed-width --runs 512 --epochs 20000
    .venv/bin/python benchmarks/sweep.py trios --runs 512 --ensemble-size 128 --both

`--both` runs each space twice, with and without analyses while a GPU trains the next networks. With
fewer epochs than the paper's 20,000 the share is of what 20,000 would have taken at the same
rate.

`--profile` lists the functions in which the time of the host went: what is neither training nor
analysis passes while a GPU has nothing to do.
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.distributions import Fixed
from algophase.sweeps.options import Options
from algophase.sweeps.shipped_spaces import PAPER_SPACES, find_space
from algophase.sweeps.sweep import Request, sweep_here

FULL = 20_000
FUNCTIONS_SHOWN = 80  # of a profile


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("spaces", nargs="*", default=list(PAPER_SPACES))
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--ensemble-size", type=int)
    parser.add_argument("--both", action="store_true")
    parser.add_argument("--profile", action="store_true")
    chosen = parser.parse_args()
    print(
        "space                   runs  analyzed     training/run  analysis/run   beside/run  "
        "other/run   overhead of 20,000 epochs"
    )
    for name in chosen.spaces:
        alone = None  # seconds of training with nothing beside it, where that is measured
        for beside in (False, True) if chosen.both else (True,):
            options = Options(
                device=chosen.device,
                ensemble_size=chosen.ensemble_size,
                snapshot_epochs=find_space(name).snapshots,
                analyze_beside=beside,
            )
            with cProfile.Profile() if chosen.profile else nullcontext() as profile:
                line, training = measured(name, chosen.runs, chosen.epochs, options, alone)
            print(line, flush=True)
            if profile is not None:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(FUNCTIONS_SHOWN)
            alone = training


def measured(
    name: str, runs: int, epochs: int, options: Options, alone: float | None
) -> tuple[str, float]:
    """What a sweep of this space costs, as a line, and the seconds of its training.

    alone: seconds of the same training without analyses beside it. Overhead is what a sweep takes
    beyond that.
    """
    space = find_space(name)
    space = replace(space, settings={**space.settings, "training.epochs": Fixed(epochs)})
    snapshots = tuple(epoch for epoch in options.snapshot_epochs if epoch < epochs)
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.monotonic()
        request = Request(space, runs, options=replace(options, snapshot_epochs=snapshots))
        outcome = sweep_here(request, SweepDirectory(Path(scratch)))
        whole = time.monotonic() - begun
    training = outcome.training_seconds
    full_training = training * FULL / epochs
    alone = training if alone is None else alone
    overhead = (whole - alone) / (alone * FULL / epochs)
    seconds = (
        full_training,
        outcome.analysis_seconds,
        outcome.beside_seconds,
        outcome.other_seconds,
    )
    cells = [f"{1000 * value / runs:9.1f} ms" for value in seconds]
    when = "beside" if options.analyze_beside else "after"
    line = f"{name:22} {runs:5}  {when:8}  {'  '.join(cells)}   {overhead:6.1%}"
    return line, training


if __name__ == "__main__":
    main()
