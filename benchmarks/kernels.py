"""Where an epoch's time goes: the operations of a training step by their share of the device's
time.

    .venv/bin/python benchmarks/kernels.py                                   # two layers, four layers, one layer of width 512
    .venv/bin/python benchmarks/kernels.py --layers 2 --width 128 --networks 48
    .venv/bin/python benchmarks/kernels.py --linear beta --networks 256

The step is the training loop's, optimizer included, launched operation by operation; its sum is
printed a network and epoch, and beside it the same from the loop's own epoch, which on a GPU is one
graph: what lies between is overlap and idle time.
"""

import argparse
from collections.abc import Sequence

import torch
from torch.profiler import ProfilerActivity, profile
from train import runs_of, seconds_per_call, synchronise  # beside this file

from algophase import LinearSettings, TransformerSettings
from algophase.core.settings import LINEAR_MODELS
from algophase.training.run.loop import Ensemble
from algophase.training.run.plan import plan

STEPS = 5
CASES = (
    (TransformerSettings(128, 2), 48),
    (TransformerSettings(128, 4), 24),
    (TransformerSettings(512), 16),
)


def shares(
    network: TransformerSettings | LinearSettings, count: int, device: str, rows: int
) -> None:
    (group,) = plan(runs_of(network, count), "auto", device, ensemble_size=count)
    ensemble = Ensemble(group)
    on_gpu = group.device.type == "cuda"
    ensemble._update()
    synchronise(group.device)
    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as seen:
        for _ in range(STEPS):
            ensemble._update()
        synchronise(group.device)
    events = seen.key_averages()
    spent = {event.key: _microseconds(event, on_gpu) for event in events}
    calls = {event.key: event.count for event in events}
    whole = sum(spent.values())
    epoch = seconds_per_call(ensemble.advance, group.device, 1.0)
    print(
        f"\n{network}, {count} networks, {group.engine} engine, {group.precision}: "
        f"{whole / STEPS / count:.1f} µs a network and epoch in operations, "
        f"{1e6 * epoch / count:.1f} µs in the loop's epoch"
    )
    for name, value in sorted(spent.items(), key=lambda item: -item[1])[:rows]:
        print(
            f"{value / whole:6.1%} {value / STEPS / count:8.2f} µs {calls[name] / STEPS:6.1f} "
            f"calls  {name[:90]}"
        )


def _microseconds(event: object, on_gpu: bool) -> float:
    return float(getattr(event, "self_device_time_total" if on_gpu else "self_cpu_time_total"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument(
        "--linear", choices=LINEAR_MODELS, help="a linear model instead of a transformer"
    )
    parser.add_argument(
        "--networks", type=int, help="without it, three cases, whatever else is given"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, default=16)
    options = parser.parse_args(arguments)
    chosen = (
        LinearSettings(options.linear)
        if options.linear
        else TransformerSettings(options.width, options.layers)
    )
    for network, count in CASES if options.networks is None else ((chosen, options.networks),):
        shares(network, count, options.device, options.rows)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
