"""How long an analysis takes and how much memory it needs, on the machine at hand.

    .venv/bin/python benchmarks/analyze.py

On a CPU: seconds and peak memory per network, and how much faster all p^3 triples at once are than
one backward pass a triple, measured in the same run on a sample of triples. Each network runs in a
process of its own, so that peaks do not add up.

On a GPU: milliseconds per network over many, and how long its parts take by themselves: the
gradients of all triples, the circles, which are found on the CPU meanwhile, and what they do. And
how many operations PyTorch is asked for per network, on either side, views of tensors apart:
queueing them is what an analysis mostly waits for. The networks have the circles a trained one has.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from algophase import (
    LinearSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
    __version__,
    analyze,
    analyze_many,
    find_circles,
    handmade_pizza,
    initialize,
    network_components,
)
from algophase.analysis.circles.roles import sums_of_circles
from algophase.analysis.device import in_float64
from algophase.analysis.logits.metrics import (
    embedding_gradients,
    gradient_similarities,
    gradient_symmetricity_exact,
    paper_triples,
)
from algophase.core.fourier import circle
from algophase.core.settings import NetworkSettings
from algophase.networks import Network

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
    network = initialize(RunSettings(task=TaskSettings(modulus=p), network=settings))
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


@torch.no_grad()
def with_circles(settings: NetworkSettings, seed: int) -> Network:
    """A network as it starts, but for an embedding of eight circles of different sizes, and
    noise.
    """
    network = initialize(RunSettings(network=settings, seed=seed))
    table, p = network.operand_tables()[0], network.task.modulus
    circles = [
        (1 - 0.1 * rank) * circle(p, k) for rank, k in enumerate((1, 2, 5, 7, 10, 13, 17, 25))
    ]
    table.mul_(0.1)
    table[:, : 2 * len(circles)] += torch.cat(circles, dim=1)
    return network


GPU_CASES: dict[str, Callable[[int], Network]] = {
    "one layer, width 128, p = 59": lambda seed: with_circles(
        TransformerSettings(attention_rate=0.5), seed
    ),
    "four layers, width 128, p = 59": lambda seed: with_circles(
        TransformerSettings(layers=4, attention_rate=0.5), seed
    ),
    "one layer, width 512, p = 59": lambda seed: with_circles(
        TransformerSettings(width=512, attention_rate=0.5), seed
    ),
    "linear beta, p = 59": lambda seed: with_circles(LinearSettings(model="beta"), seed),
    "accompanied Pizza, p = 59": lambda seed: handmade_pizza(
        59, (1 + seed % 3, 5, 17, 26), accompanied=True
    ),
}


class Operations(TorchDispatchMode):
    """Counts what PyTorch is asked for: views, which compute nothing, and the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.count = {"views": 0, "others": 0}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.count["views" if func.is_view else "others"] += 1
        return func(*args, **(kwargs or {}))


def milliseconds_each(work: Callable[[], object], count: int) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - started) / count


def measure_gpu(networks: Sequence[Network]) -> tuple[int, list[float]]:
    """How many circles the first has, and milliseconds a network: the whole, then gradients,
    circles and evidence alone.
    """
    exact = [in_float64(network, "cuda") for network in networks]
    resolution = torch.finfo(torch.float32).eps
    components = [network_components(network, resolution) for network in networks]
    circles = [find_circles(each) for each in components]
    parts: list[Callable[[], object]] = [
        lambda: analyze_many(networks, device="cuda"),
        lambda: [gradient_similarities(network) for network in exact],
        lambda: [find_circles(network_components(network, resolution)) for network in networks],
        lambda: [sums_of_circles(*each) for each in zip(exact, circles, components, strict=True)],
    ]
    for part in parts:
        part()  # once for the caches, the libraries and the allocator
    torch.cuda.reset_peak_memory_stats()
    return len(circles[0]), [milliseconds_each(part, len(networks)) for part in parts]


def main_gpu(count: int) -> None:
    print(
        f"algophase {__version__}, torch {torch.__version__}, {torch.cuda.get_device_name()}, "
        f"{count} networks"
    )
    columns = (
        f"{'analyze':>11} {'gradients':>11} {'circles (CPU)':>14} {'evidence':>11} "
        f"{'peak memory':>12} {'operations':>16}"
    )
    print(f"{'network':<32} {'circles':>7} {columns}")
    for name, make in GPU_CASES.items():
        networks = [make(seed) for seed in range(count)]
        circles, (whole, gradients, finding, evidence) = measure_gpu(networks)
        peak = torch.cuda.max_memory_allocated() / 2**30
        with Operations() as asked:
            analyze(networks[0], device="cuda")
        operations = f"{asked.count['others']} + {asked.count['views']} views"
        times = (
            f"{whole:>8.2f} ms {gradients:>8.2f} ms {finding:>11.2f} ms {evidence:>8.2f} ms "
            f"{peak:>8.2f} GiB"
        )
        print(f"{name:<32} {circles:>7} {times} {operations:>16}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument(
        "--case", choices=CASES, help="measure one case in this process and print JSON"
    )
    parser.add_argument(
        "--cpu", action="store_true", help="measure the CPU although there is a GPU"
    )
    parser.add_argument(
        "--networks",
        type=int,
        default=64,
        help="how many networks to analyze on a GPU (default 64)",
    )
    options = parser.parse_args()
    chosen = options.case
    if chosen:
        print(json.dumps(measure(chosen)))
        return
    if torch.cuda.is_available() and not options.cpu:
        main_gpu(options.networks)
        return
    print(
        f"algophase {__version__}, torch {torch.__version__}, {platform.machine()}, "
        f"{torch.get_num_threads()} threads"
    )
    print(
        f"{'network':<32} {'analyze':>9} {'of which exact':>15} {'against one by one':>19} "
        f"{'peak memory':>12}"
    )
    for name in CASES:
        output = subprocess.run(
            [sys.executable, __file__, "--case", name], capture_output=True, text=True, check=True
        ).stdout
        result = json.loads(output)
        times = f"{result['analyze']:>7.2f} s {result['exact']:>13.2f} s {result['ratio']:>17.0f} x"
        print(f"{name:<32} {times} {result['peak']:>9.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
