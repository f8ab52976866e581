"""Time training of one network on quiet cores and beside one busy process, which this program
starts itself.

    .venv/bin/python benchmarks/busy.py              # about a minute, CPU only
    .venv/bin/python benchmarks/busy.py --alone      # seconds: what an epoch costs one core, whatever else runs

Printed for the default engine and for `plain`: milliseconds per epoch quiet and busy, and their
ratio. The training loop's own `Ensemble.train` is timed, so the number of threads follows the load
as it does for a user. With `--alone`: the CPU time of epochs on one thread, the fastest and the
median.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import torch

from algophase import RunSettings, TransformerSettings, __version__
from algophase.core.threads import one_thread
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import plan


@contextmanager
def busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def begin(run: RunSettings, engine: str, epochs: int) -> Ensemble:
    run = replace(run, training=replace(run.training, epochs=epochs))
    (group,) = plan([run], engine, "cpu")
    ensemble = Ensemble(group, Watch(history_stride=epochs))
    for _ in range(3):
        ensemble.advance()
    return ensemble


def alone(run: RunSettings, engine: str, epochs: int) -> list[float]:
    """CPU seconds of each epoch on one thread."""
    times = []
    with one_thread():
        ensemble = begin(run, engine, epochs)
        for _ in range(epochs):
            started = time.thread_time()
            ensemble.advance()
            times.append(time.thread_time() - started)
    return times


def train(run: RunSettings, engine: str, epochs: int) -> float:
    """Seconds per epoch."""
    ensemble = begin(run, engine, epochs)
    started = time.perf_counter()
    ensemble.train()
    return (time.perf_counter() - started) / epochs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument(
        "--seconds",
        type=float,
        default=4.0,
        help="time to spend on each of three rounds of a measurement",
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="CPU time of 300 epochs of the default engine on one thread",
    )
    options = parser.parse_args()
    run = RunSettings(network=TransformerSettings(width=options.width, attention_rate=0.5))
    load = os.getloadavg()[0]
    print(
        f"algophase {__version__}, PyTorch {torch.__version__}, {torch.get_num_threads()} "
        f"threads, load {load:.1f} at the start"
    )
    if options.alone:
        times = [1e3 * seconds for seconds in alone(run, "auto", 300)]
        print(
            f"one thread: {min(times):.1f} ms of CPU time at the fastest epoch, "
            f"{statistics.median(times):.1f} ms in the median"
        )
        return
    print(f"{'engine':<10} {'quiet':>12} {'busy':>12} {'ratio':>8}")
    for engine in ("auto", "plain"):
        epochs = max(5, int(options.seconds / train(run, engine, 5)))
        quiet: list[float] = []
        busy: list[float] = []
        for _ in range(3):
            for times, beside in ((quiet, nullcontext()), (busy, busy_process())):
                with beside:
                    times.append(1e3 * train(run, engine, epochs))
        slow, fast = statistics.median(busy), statistics.median(quiet)
        print(f"{engine:<10} {fast:>9.1f} ms {slow:>9.1f} ms {slow / fast:>7.2f}x", flush=True)


if __name__ == "__main__":
    main()
