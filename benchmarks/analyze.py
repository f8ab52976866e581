"""How long an analysis takes and how much memory it needs, on the machine at hand.

    .venv/bin/python benchmarks/analyze.py

Prints seconds and peak memory per network, and how much faster the batched backward pass over all p^3 triples is than
one backward pass a triple, measured in the same run on a sample of triples. Each network runs in a process of its own, so
that peaks do not add up.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time

import torch

from algophase import LinearSettings, RunSettings, TaskSettings, TransformerSettings, __version__, analyze, initialise
from algophase.analysis.analyze import in_float64
from algophase.analysis.metrics import embedding_gradients, gradient_symmetricity_exact, paper_triples
from algophase.networks import Network
from algophase.settings import NetworkSettings

CASES: dict[str, tuple[int, NetworkSettings]] = {
    "one layer, width 128, p = 59": (59, TransformerSettings(attention_rate=0.5)),
    "one layer, width 128, p = 113": (113, TransformerSettings(attention_rate=0.5)),
    "four layers, width 128, p = 59": (59, TransformerSettings(layers=4, attention_rate=0.5)),
    "one layer, width 512, p = 59": (59, TransformerSettings(width=512, attention_rate=0.5)),
    "linear beta, p = 59": (59, LinearSettings(model="beta")),
}


def seconds_per_triple_one_by_one(network: Network) -> float:
    triples = paper_triples(network.task.modulus)
    started = time.perf_counter()
    for triple in triples:
        embedding_gradients(network, triple[None])
    return (time.perf_counter() - started) / len(triples)


def measure(name: str) -> dict[str, float]:
    p, settings = CASES[name]
    network = initialise(RunSettings(task=TaskSettings(modulus=p), network=settings))
    started = time.perf_counter()
    analyze(network)
    whole = time.perf_counter() - started
    exact = in_float64(network)
    started = time.perf_counter()
    gradient_symmetricity_exact(exact)
    batched = time.perf_counter() - started
    return {
        "analyze": whole,
        "exact": batched,
        "ratio": seconds_per_triple_one_by_one(exact) * p**3 / batched,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--case", choices=CASES, help="measure one case in this process and print JSON")
    chosen = parser.parse_args().case
    if chosen:
        print(json.dumps(measure(chosen)))
        return
    print(f"algophase {__version__}, torch {torch.__version__}, {platform.machine()}, {torch.get_num_threads()} threads")
    print(f"{'network':<32} {'analyze':>9} {'of which exact':>15} {'against one by one':>19} {'peak memory':>12}")
    for name in CASES:
        output = subprocess.run([sys.executable, __file__, "--case", name], capture_output=True, text=True, check=True).stdout
        result = json.loads(output)
        times = f"{result['analyze']:>7.2f} s {result['exact']:>13.2f} s {result['ratio']:>17.0f} x"
        print(f"{name:<32} {times} {result['peak']:>9.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
