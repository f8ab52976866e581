"""Time every engine on the machine at hand, in one run, and append the numbers to
benchmarks/results.jsonl.

    .venv/bin/python benchmarks/train.py                # a few minutes; on a GPU if there is one
    .venv/bin/python benchmarks/train.py --device cpu   # also shows how cost grows with modulus, epochs and runs
    .venv/bin/python benchmarks/train.py --parts groups # S5 and others beside cyclic groups

An epoch is the training loop's own (`Ensemble.advance`), a full-batch update of every network of an
ensemble.
Printed: milliseconds an epoch,
seconds a run of 20,000 epochs amortised over the ensemble, the ratio to the plain engine and to a
`torch.func.vmap` ensemble measured in this run, and for one-layer networks the FLOP/s of the three
matrix products no grid layout can avoid, 6 p^2 (4 d) v a network and epoch, against a large matrix
product measured here.
"""

import argparse
import json
import platform
import resource
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch.func import functional_call, grad, vmap

from algophase import LinearSettings, RunSettings, TaskSettings, TransformerSettings, __version__
from algophase.core.settings import NetworkSettings
from algophase.core.task import all_pairs, tokens
from algophase.networks import template
from algophase.training.engines.stacked import StackedEngine
from algophase.training.run.loop import Ensemble
from algophase.training.run.plan import plan

EPOCHS = 20_000
RESULTS = Path(__file__).parent / "results.jsonl"
TASK = TaskSettings(modulus=59)
PARTS = ("engines", "networks", "growth", "groups")


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_per_call(call: Callable[[], object], device: torch.device, budget: float) -> float:
    """Median over five batches of calls that take about `budget` seconds together, after a
    warm-up.
    """
    for _ in range(3):
        call()
    synchronise(device)
    started = time.perf_counter()
    call()
    synchronise(device)
    count = max(1, int(budget / 5 / max(time.perf_counter() - started, 1e-6)))
    times = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(count):
            call()
        synchronise(device)
        times.append((time.perf_counter() - started) / count)
    return statistics.median(times)


def runs_of(network: NetworkSettings, count: int, task: TaskSettings = TASK) -> list[RunSettings]:
    runs = []
    for seed in range(count):
        settings = network
        if isinstance(network, TransformerSettings):
            rate = seed / max(1, count - 1)
            settings = TransformerSettings(
                network.width, network.layers, network.heads, network.activation, rate
            )
        runs.append(RunSettings(task=task, network=settings, seed=seed))
    return runs


def measure(
    runs: list[RunSettings], engine: str, device: torch.device, precision: str, budget: float
) -> float:
    """Seconds an epoch of the whole ensemble."""
    (group,) = plan(runs, engine, str(device), precision, ensemble_size=len(runs))
    ensemble = Ensemble(group)
    seconds = seconds_per_call(ensemble.advance, device, budget)
    del ensemble
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return seconds


def measure_vmap(runs: list[RunSettings], device: torch.device, budget: float) -> float:
    """The textbook ensemble: `vmap` of `grad` of the module, with our optimizer; the
    specification's arithmetic, batched.
    """
    from algophase.training.run.optimizer import AdamW

    engine = StackedEngine(runs, device, "float32")  # for its stacked parameters and training pairs
    module = template(runs[0].task, engine.settings)
    every = tokens(engine.task, all_pairs(engine.modulus)).to(device)
    sequences = every[engine.pairs]  # (n, B, context)
    optimizer = AdamW(engine.parameters, runs)

    def loss(
        parameters: dict[str, torch.Tensor], sequence: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        logits = functional_call(module, parameters, (sequence,))
        return torch.nn.functional.cross_entropy(logits.double(), labels)

    gradient = vmap(grad(loss))

    def epoch() -> None:
        found = gradient(dict(engine.parameters), sequences, engine.pair_labels)
        for name, value in found.items():
            engine.gradients[name].copy_(value)
        optimizer.step(engine.gradients)

    return seconds_per_call(epoch, device, budget)


def ceiling(device: torch.device, precision: str) -> float:
    """FLOP/s of a large float32 or TF32 matrix product."""
    size = 8192 if device.type == "cuda" else 2048
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    a, b = torch.randn(size, size, device=device), torch.randn(size, size, device=device)
    rate = 2 * size**3 / seconds_per_call(lambda: a @ b, device, 1.0)
    torch.backends.cuda.matmul.allow_tf32 = False
    return rate


def row(
    name: str, engine: str, precision: str, count: int, seconds: float, **more: Any
) -> dict[str, Any]:
    per_run = seconds / count * EPOCHS
    return {
        "network": name,
        "engine": engine,
        "precision": precision,
        "networks": count,
        "epoch_ms": 1e3 * seconds,
        "run_s": per_run,
        **more,
    }


def show(result: dict[str, Any]) -> None:
    ratios = "".join(
        f"{result[key]:>9.1f}x" if key in result else f"{'':>10}"
        for key in ("against_plain", "against_vmap")
    )
    flops = f"{result['tflops']:>8.2f} ({result['of_ceiling']:.0%})" if "tflops" in result else ""
    head = (
        f"{result['network']:<26} {result['engine']:<8} {result['precision']:<8} "
        f"{result['networks']:>5}"
    )
    print(
        f"{head} {result['epoch_ms']:>9.3f} ms {result['run_s']:>9.3f} s {ratios} {flops}",
        flush=True,
    )


def one_layer(
    device: torch.device, precision: str, budget: float, results: list[dict[str, Any]]
) -> None:
    network, name = TransformerSettings(), "one layer, width 128"
    rate = ceiling(device, precision)
    print(f"ceiling: {rate / 1e12:.2f} TFLOP/s for a large {precision} matrix product")
    gpu = device.type == "cuda"
    plain = measure(runs_of(network, 1), "plain", device, "float32", budget)
    batch = 16 if gpu else 2
    mapped = measure_vmap(runs_of(network, batch), device, budget) / batch
    results.append(row(name, "plain", "float32", 1, plain))
    results.append(
        row(name, "vmap", "float32", batch, mapped * batch, against_plain=plain / mapped)
    )
    entries = [
        ("stacked", 32, precision),
        ("grid", 16, precision),
        ("fused", 512, "half"),
        ("fused", 64, "half"),
        ("fused", 1, "half"),
    ]
    for engine, count, chosen in (
        entries
        if gpu
        else [("stacked", 1, precision), ("grid", 1, precision), ("grid", 4, precision)]
    ):
        seconds = measure(runs_of(network, count), engine, device, chosen, budget)
        work = 6 * 59**2 * (4 * 128) * 59 * count / seconds
        more = {
            "against_plain": plain / (seconds / count),
            "against_vmap": mapped / (seconds / count),
        }
        results.append(
            row(
                name,
                engine,
                chosen,
                count,
                seconds,
                tflops=work / 1e12,
                of_ceiling=work / rate,
                **more,
            )
        )


def others(
    device: torch.device,
    precision: str | None,
    budget: float,
    only: str,
    results: list[dict[str, Any]],
) -> None:
    """Every kind of network whose name has `only` in it, with the engine and precision that
    `auto` chooses.
    """
    equals, separate = (
        TaskSettings(modulus=59, equals_sign=True),
        TaskSettings(modulus=59, separate_vocabularies=True),
    )
    linear = ("alpha", "beta", "gamma", "delta", "alpha-prime")
    cases: list[tuple[str, TaskSettings, NetworkSettings, int]] = [
        ("one layer, width 128", TASK, TransformerSettings(), 512),
        ("one layer, alone", TASK, TransformerSettings(), 1),
        ("one layer, p = 113", TaskSettings(modulus=113), TransformerSettings(), 128),
        ("one layer, width 1024", TASK, TransformerSettings(width=1024), 16),
        ("one layer, width 512", TASK, TransformerSettings(width=512), 64),
        ("one layer, width 256", TASK, TransformerSettings(width=256), 128),
        ("one layer, width 64", TASK, TransformerSettings(width=64), 512),
        ("GELU", TASK, TransformerSettings(activation="gelu"), 512),
        ("equals sign", equals, TransformerSettings(), 512),
        ("separate vocabularies", separate, TransformerSettings(), 512),
        ("two layers", TASK, TransformerSettings(layers=2), 88),
        ("three layers", TASK, TransformerSettings(layers=3), 88),
        ("four layers", TASK, TransformerSettings(layers=4), 88),
        *[(f"linear {model}", TASK, LinearSettings(model=model), 512) for model in linear],
    ]
    gpu = device.type == "cuda"
    for name, task, network, most in cases:
        if only not in name:
            continue
        count = most if gpu else 1
        plain = measure(runs_of(network, 1, task), "plain", device, "float32", budget / 2)
        (group,) = plan(
            runs_of(network, count, task), "auto", str(device), precision, ensemble_size=count
        )
        seconds = measure(list(group.runs), group.engine, device, group.precision, budget)
        results.append(
            row(
                name,
                group.engine,
                group.precision,
                count,
                seconds,
                against_plain=plain / (seconds / count),
            )
        )
        show(results[-1])


def growth(
    device: torch.device, precision: str | None, budget: float, results: list[dict[str, Any]]
) -> None:
    """Cost against modulus and ensemble size: time an epoch is linear in networks, and close to
    p^3 v in the modulus.
    """
    gpu = device.type == "cuda"
    for modulus in (31, 59, 113):
        for count in (64, 128, 256) if gpu else (1, 2, 4):
            runs = runs_of(TransformerSettings(), count, TaskSettings(modulus=modulus))
            name = f"one layer, p = {modulus}"
            results.append(with_chosen_engine(name, runs, device, precision, budget / 2))
            show(results[-1])


def groups(
    device: torch.device,
    precision: str | None,
    budget: float,
    only: str,
    results: list[dict[str, Any]],
) -> None:
    """Cyclic groups, whose answers a kernel computes, beside others of the same order, whose answers
    it looks up. Each is timed twice, one round after the other, which shows the noise.
    """
    transformer, gpu = TransformerSettings(), device.type == "cuda"
    cases: list[tuple[str, NetworkSettings, int]] = [
        ("Z59", transformer, 512),
        ("Z60", transformer, 512),
        ("D30", transformer, 512),
        ("A5", transformer, 512),
        ("Z113", transformer, 128),
        ("Z120", transformer, 128),
        ("S5", transformer, 128),
        ("Z60", TransformerSettings(layers=2), 88),
        ("A5", TransformerSettings(layers=2), 88),
        ("Z60", LinearSettings("delta"), 512),
        ("A5", LinearSettings("delta"), 512),
    ]
    for _ in range(2):
        for group, network, most in cases:
            kind = network.title if isinstance(network, LinearSettings) else ""
            if isinstance(network, TransformerSettings):
                kind = "one layer" if network.layers == 1 else "two layers"
            name = f"{kind}, {group}"
            if only in name:
                runs = runs_of(network, most if gpu else 1, TaskSettings(group=group))
                results.append(with_chosen_engine(name, runs, device, precision, budget))
                show(results[-1])


def with_chosen_engine(
    name: str, runs: list[RunSettings], device: torch.device, precision: str | None, budget: float
) -> dict[str, Any]:
    """An ensemble with the engine and precision that `auto` chooses."""
    count = len(runs)
    (ensemble,) = plan(runs, "auto", str(device), precision, ensemble_size=count)
    seconds = measure(runs, ensemble.engine, device, ensemble.precision, budget)
    return row(name, ensemble.engine, ensemble.precision, count, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--precision", help="default: each engine's, and tf32 or float32 where engines are compared"
    )
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="time to spend on each measurement"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="file to append to")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS[:3], help="what to time")
    parser.add_argument(
        "--only", default="", help="of the networks, those with this in their name, such as width"
    )
    options = parser.parse_args()
    device = torch.device(options.device)
    precision = options.precision or ("tf32" if device.type == "cuda" else "float32")
    machine = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{platform.machine()}, {torch.get_num_threads()} threads"
    )
    print(f"algophase {__version__}, PyTorch {torch.__version__}, {machine}")
    results: list[dict[str, Any]] = []
    if "engines" in options.parts:
        one_layer(device, precision, options.seconds, results)
    columns = (
        f"{'network':<26} {'engine':<8} {'precision':<8} {'count':>5} {'an epoch':>12} "
        f"{'a run':>11}"
    )
    print(f"{columns} {'to plain':>10} {'to vmap':>9}   TFLOP/s")
    for result in results:
        show(result)
    if "networks" in options.parts:
        others(device, options.precision, options.seconds, options.only, results)
    if "growth" in options.parts:
        growth(device, options.precision, options.seconds, results)
    if "groups" in options.parts:
        groups(device, options.precision, options.seconds, options.only, results)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process: {peak:.2f} GiB")
    stamp = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "torch": torch.__version__,
        "version": __version__,
    }
    with options.results.open("a") as file:
        for result in results:
            file.write(json.dumps({**stamp, **result}) + "\n")
    print(f"appended to {options.results}")


if __name__ == "__main__":
    main()
