"""How long an analysis takes and how much memory it needs, on the machine at hand.

    .venv/bin/python benchmarks/analyze.py

On a CPU: seconds of CPU time, seconds on the clock and peak memory per network. Each runs in a
process of its own, so that peaks do not add up. Other programs change the clock far more than CPU
time, so ratios are of CPU time.

    .venv/bin/python benchmarks/analyze.py --against ../other/src --repeat 3 [FILE ...]
    .venv/bin/python benchmarks/analyze.py --moduli 31 59 113 251 509 --groups S4 S5 S6

--against analyzes every network in turn with another source tree, and says how much faster this one
is and by how much their metrics differ. --moduli and --groups measure how time grows.

On a GPU: milliseconds per network over many, and how long its parts take by themselves: the
gradients of all triples, the circles, which are found on the CPU meanwhile, and what they do. And
how many operations PyTorch is asked for per network, on either side, views of tensors apart:
queueing them is what an analysis mostly waits for. The networks have the circles a trained one has.
"""

import argparse
import itertools
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

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
    load,
    network_components,
)
from algophase.analysis.circles.roles import sums_of_circles
from algophase.analysis.device import in_float64
from algophase.analysis.logits.metrics import gradient_similarities
from algophase.core.fourier import circle
from algophase.core.settings import NetworkSettings
from algophase.networks import Network

MODULUS, GROUP = "p = ", "group "  # what names of further cases begin with
CASES: dict[str, tuple[int, NetworkSettings]] = {
    "one layer, width 128, p = 59": (59, TransformerSettings(attention_rate=0.5)),
    "one layer, width 128, p = 113": (113, TransformerSettings(attention_rate=0.5)),
    "four layers, width 128, p = 59": (59, TransformerSettings(layers=4, attention_rate=0.5)),
    "one layer, width 512, p = 59": (59, TransformerSettings(width=512, attention_rate=0.5)),
    "linear beta, p = 59": (59, LinearSettings(model="beta")),
}


def one_layer(task: TaskSettings) -> Network:
    settings = TransformerSettings(attention_rate=0.5)
    return initialize(RunSettings(task=task, network=settings))


def network_of(name: str) -> Network:
    """Of a case's name, "p = 59", "group S5", or a file."""
    if name in CASES:
        modulus, settings = CASES[name]
        return initialize(RunSettings(task=TaskSettings(modulus=modulus), network=settings))
    if name.startswith(MODULUS):
        return one_layer(TaskSettings(modulus=int(name.removeprefix(MODULUS))))
    if name.startswith(GROUP):
        return one_layer(TaskSettings(group=name.removeprefix(GROUP)))
    return load(name)


def measure(name: str, threads: int) -> dict[str, Any]:
    """CPU seconds, seconds on the clock, and the peak of this process in MB; and the metrics."""
    torch.set_num_threads(threads)
    network = network_of(name)
    started, started_cpu = time.perf_counter(), time.process_time()
    analysis = analyze(network)
    cpu, clock = time.process_time() - started_cpu, time.perf_counter() - started
    # Linux counts kilobytes, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 10**6
    size = network.task.modulus
    return {"cpu": cpu, "clock": clock, "peak": peak, "size": size, "metrics": analysis.metrics}


def measure_apart(name: str, options: argparse.Namespace, source: str | None) -> dict[str, Any]:
    """The same in a process of its own, with the package at `source`, by default this one."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, __file__, "--case", name, "--threads", str(options.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def fastest(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return min(results, key=lambda result: result["cpu"])


def largest_difference(one: dict[str, float], other: dict[str, float]) -> float:
    """Of metrics, relative to their size where that is above 1."""
    differences = [
        abs(one[name] - other[name]) / max(1.0, abs(other[name]))
        for name in one
        if not math.isnan(one[name])
    ]
    return max(differences, default=0.0)


def main_cpu(names: Sequence[str], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What was measured of each network with this source tree, the fastest of several times."""
    print(
        f"algophase {__version__}, torch {torch.__version__}, {platform.machine()}, "
        f"{options.threads} threads, fastest of {options.repeat}"
    )
    columns = f"{'CPU time':>10} {'clock':>10} {'peak':>9}"
    if options.against:
        columns += f"   {'before':>10} {'peak':>9} {'faster':>9} {'difference':>11}"
    print(f"{'network':<34} {columns}")
    measured = {}
    for name in names:
        results, before = [], []
        for _ in range(options.repeat):
            results.append(measure_apart(name, options, None))
            if options.against:
                before.append(measure_apart(name, options, options.against))
        result = measured[name] = fastest(results)
        line = f"{result['cpu']:>8.2f} s {result['clock']:>8.2f} s {result['peak']:>6.0f} MB"
        if before:
            other = fastest(before)
            ratio = other["cpu"] / result["cpu"]
            difference = largest_difference(result["metrics"], other["metrics"])
            line += f"   {other['cpu']:>8.2f} s {other['peak']:>6.0f} MB"
            line += f" {ratio:>7.2f} x {difference:>11.1e}"
        shown = name if len(name) <= 34 else "..." + name[-31:]
        print(f"{shown:<34} {line}", flush=True)
    return measured


def print_growth(measured: dict[str, dict[str, Any]], prefix: str) -> None:
    """By which power of its size the time of a network grows, from each size to the next."""
    chosen = [result for name, result in measured.items() if name.startswith(prefix)]
    for smaller, larger in itertools.pairwise(chosen):
        power = math.log(larger["cpu"] / smaller["cpu"]) / math.log(
            larger["size"] / smaller["size"]
        )
        print(f"from {smaller['size']} to {larger['size']}: CPU time grows as size^{power:.2f}")


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
    parser.add_argument("files", nargs="*", help="networks to measure on a CPU")
    parser.add_argument(
        "--case", help="measure one case or file in this process and print it as JSON"
    )
    parser.add_argument(
        "--cpu", action="store_true", help="measure the CPU although there is a GPU"
    )
    parser.add_argument("--against", help="the src folder of another version, to compare with")
    parser.add_argument(
        "--threads", type=int, default=1, help="threads on a CPU (default 1, as CPU time needs)"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, help="how often to measure on a CPU (default 1)"
    )
    parser.add_argument(
        "--moduli", type=int, nargs="*", default=[], help="networks of these moduli, in this order"
    )
    parser.add_argument("--groups", nargs="*", default=[], help="networks on these groups")
    parser.add_argument(
        "--networks",
        type=int,
        default=64,
        help="how many networks to analyze on a GPU (default 64)",
    )
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, options.threads)))
        return
    names = [f"{MODULUS}{modulus}" for modulus in options.moduli]
    names += [f"{GROUP}{group}" for group in options.groups]
    names += options.files
    on_gpu = torch.cuda.is_available() and not options.cpu
    if on_gpu and not names:
        main_gpu(options.networks)
        return
    measured = main_cpu(names or list(CASES), options)
    for prefix in (MODULUS, GROUP):
        print_growth(measured, prefix)


if __name__ == "__main__":
    main()
