"""What a sweep costs beside training: analysis, sampling, planning, writing, as shares of the
training time.

    .venv/bin/python benchmarks/sweep.py                          # all of the paper's spaces, shortened
    .venv/bin/python benchmarks/sweep.py fixed-width --runs 512 --epochs 20000

With fewer epochs than the paper's 20,000 the share is of what 20,000 would have taken at the same
rate.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.distributions import Fixed
from algophase.sweeps.shipped_spaces import PAPER_SPACES, find_space
from algophase.sweeps.sweep import Request, sweep_here
from algophase.sweeps.work import Options

FULL = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("spaces", nargs="*", default=list(PAPER_SPACES))
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    print(
        "space                   runs  training/run  analysis/run   other/run   overhead of "
        "20,000 epochs"
    )
    for name in options.spaces:
        space = find_space(name)
        space = replace(
            space, settings={**space.settings, "training.epochs": Fixed(options.epochs)}
        )
        with tempfile.TemporaryDirectory() as scratch:
            begun = time.monotonic()
            request = Request(space, options.runs, options=Options(device=options.device))
            outcome = sweep_here(request, SweepDirectory(Path(scratch)))
            whole = time.monotonic() - begun
        training, analysis = outcome.training_seconds, outcome.analysis_seconds
        other = (
            whole - training - analysis
        )  # includes building ensembles, compiling kernels and checking gradients
        overhead = (analysis + other) / (training * FULL / options.epochs)
        each = [
            1000 * value / options.runs
            for value in (training * FULL / options.epochs, analysis, other)
        ]
        print(
            f"{name:22} {options.runs:5}  {each[0]:9.1f} ms  {each[1]:9.1f} ms {each[2]:8.1f} "
            f"ms   {overhead:6.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
