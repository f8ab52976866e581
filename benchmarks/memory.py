"""How much memory an analysis takes at its peak, the whole process included.

    .venv/bin/python benchmarks/memory.py [FILE ...]

Networks made here, of several sizes, and those in the files given. Each runs in a process of its
own, since a peak is that of a process. `ALGOPHASE_MEMORY` sets the budget, as for any analysis.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from algophase import (
    RunSettings,
    TaskSettings,
    TransformerSettings,
    __version__,
    analyze,
    handmade_pizza,
    initialize,
    load,
)
from algophase.core.memory import VARIABLE, budget, size_text
from algophase.core.settings import MLPSettings
from algophase.networks import MLP, Network


def one_layer(modulus: int) -> Network:
    settings = TransformerSettings(attention_rate=0.5)
    return initialize(RunSettings(task=TaskSettings(modulus=modulus), network=settings))


@torch.no_grad()
def one_hot(modulus: int, width: int) -> Network:
    """A one-hot MLP whose units are waves of six frequencies, with noise: a Pizza."""
    network = MLP(TaskSettings(modulus=modulus), MLPSettings(width=width, one_hot=True)).double()
    random = torch.Generator().manual_seed(0)
    phases = torch.rand(width, generator=random).double() * 2 * math.pi
    frequencies = torch.tensor([1, 5, 7, 11, 20, 30])[torch.arange(width) % 6]
    angles = torch.arange(modulus)[:, None] * frequencies * (2 * math.pi / modulus)
    for weight, waves in ((network.first, angles + phases), (network.W_U.T, angles + 2 * phases)):
        noise = 0.01 * torch.randn(weight.shape, generator=random).double()
        weight.copy_(torch.cos(waves) + noise)
    return network


CASES: dict[str, Callable[[], Network]] = {
    "one layer, width 128, p = 59": lambda: one_layer(59),
    "one layer, width 128, p = 113": lambda: one_layer(113),
    "one-hot MLP, 1,024 units, p = 97": lambda: one_hot(97, 1024),
    "Pizza made by hand, p = 113": lambda: handmade_pizza(113),
    "Pizza made by hand, p = 251": lambda: handmade_pizza(251),
    "Pizza made by hand, p = 401": lambda: handmade_pizza(401),
}


def measure(name: str) -> dict[str, float]:
    network = CASES[name]() if name in CASES else load(name)
    started = time.perf_counter()
    analyze(network)
    seconds = time.perf_counter() - started
    # Linux counts kilobytes, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return {"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", help="networks to measure as well")
    parser.add_argument("--case", help="measure one case or file in this process and print JSON")
    parser.add_argument("--largest", type=int, default=251, help="largest modulus (default 251)")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case)))
        return
    limit = size_text(budget(torch.device("cpu")))
    print(f"algophase {__version__}, {torch.get_num_threads()} threads, {VARIABLE} {limit}")
    print(f"{'network':<34} {'peak memory':>11} {'seconds':>8}")
    chosen = [name for name in CASES if int(name.rpartition(" ")[2]) <= options.largest]
    for name in [*chosen, *options.files]:
        command = [sys.executable, __file__, "--case", name]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        result = json.loads(output)
        label = name if name in CASES else os.path.basename(name)
        print(f"{label:<34} {size_text(result['peak']):>11} {result['seconds']:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
