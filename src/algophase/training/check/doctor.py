"""What training does on this machine: its card, the engine of each kind of network and why, and how
fast each trains. The command is `cli/doctor.py`.
"""

import os
import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from algophase.core.devices import device_name
from algophase.core.settings import (
    LinearSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.core.wording import counted
from algophase.training.engines.cards import card_of
from algophase.training.run.plan import choose_way, why_not
from algophase.training.run.train import train

GIB = 2**30
KINDS: Mapping[str, RunSettings] = {
    "1 layer, p 59, width 128": RunSettings(),
    "1 layer, p 113, width 128": RunSettings(TaskSettings(113)),
    "1 layer, p 59, width 256": RunSettings(network=TransformerSettings(256)),
    "1 layer, p 59, width 512": RunSettings(network=TransformerSettings(512)),
    "1 layer, p 211, width 128": RunSettings(TaskSettings(211)),
    "1 layer, S5, width 128": RunSettings(TaskSettings(group="S5")),
    "2 layers, p 59, width 128": RunSettings(network=TransformerSettings(128, 2)),
    "4 layers, p 59, width 128": RunSettings(network=TransformerSettings(128, 4)),
    "2 layers, p 59, width 256": RunSettings(network=TransformerSettings(256, 2)),
    "linear alpha, p 59": RunSettings(network=LinearSettings("alpha")),
    "linear beta, p 59": RunSettings(network=LinearSettings("beta")),
    "linear delta, p 59": RunSettings(network=LinearSettings("delta")),
}
TIMED = (
    "1 layer, p 59, width 128",
    "1 layer, p 113, width 128",
    "2 layers, p 59, width 128",
    "linear beta, p 59",
)
# Cases of `check-gradients`: one of every family of kernels. A CPU takes the small ones.
CHECKED = ("1 layer, p 59, width 128", "2 layers, p 59, equals", "linear beta, p 59")
CHECKED_ON_CPU = ("1 layer, p 7, gelu", "2 layers, p 7", "linear beta, p 7")
TOGETHER, ALONE = 64, 1  # networks that are timed together on a GPU, and on a CPU
FEW_EPOCHS = 5
PAPERS_EPOCHS = 20_000


@dataclass(frozen=True)
class Choice:
    """What `auto` takes for a kind of network. reason: why not the fused engine, or ""."""

    kind: str
    engine: str
    precision: str
    reason: str


@dataclass(frozen=True)
class Timing:
    """An ensemble that was trained for some epochs. seconds: without what compiles kernels."""

    kind: str
    engine: str
    precision: str
    networks: int
    epochs: int
    seconds: float

    @property
    def per_epoch(self) -> float:
        """Microseconds per network and epoch."""
        return 1e6 * self.seconds / (self.networks * self.epochs)

    @property
    def per_run(self) -> float:
        """Seconds per run of the paper's 20,000 epochs."""
        return self.per_epoch * PAPERS_EPOCHS / 1e6


def machine(device: torch.device) -> dict[str, str]:
    """Versions, processor, memory and card, by name."""
    facts = {"Python": platform.python_version(), "PyTorch": torch.__version__}
    facts["Triton"] = _triton_version()
    facts["CUDA"] = torch.version.cuda or torch.version.hip or "none"
    facts["system"] = f"{platform.system()} {platform.machine()}"
    cores = os.cpu_count() or 1
    threads = torch.get_num_threads()
    facts["processor"] = f"{counted(cores, 'core')}, {counted(threads, 'thread')} in use"
    facts["memory"] = f"{_memory() / GIB:.1f} GiB"
    facts["card"] = _card(device)
    return facts


def _triton_version() -> str:
    try:
        import triton
    except ImportError:
        return "not installed"
    return str(triton.__version__)


def _memory() -> int:
    """Bytes of the whole machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _card(device: torch.device) -> str:
    if device.type != "cuda":
        return "Apple GPU (not used)" if torch.backends.mps.is_available() else "none"
    card = card_of(device)
    total = torch.cuda.get_device_properties(device).total_memory
    tiles = "tuned here" if card.is_tuned else "the smaller ones"
    return (
        f"{device_name(device)}, {total / GIB:.0f} GiB, compute capability "
        f"{card.shown_capability}, {card.shared_memory} KB of shared memory per program; tiles: "
        f"{tiles}"
    )


def choices(device: torch.device) -> list[Choice]:
    """The engine of every kind of network on a device."""
    chosen = []
    for kind, run in KINDS.items():
        engine, precision = choose_way(run, "auto", device, None)
        reason = None if engine == "fused" else why_not(run, "fused", device, "half")
        chosen.append(Choice(kind, engine, precision, reason or ""))
    return chosen


def timings(device: torch.device, seconds: float) -> Iterator[Timing]:
    """Train the kinds of `TIMED` for about so many seconds each, one after the other."""
    for kind in TIMED:
        yield _timing(kind, device, seconds)


def _timing(kind: str, device: torch.device, seconds: float) -> Timing:
    count = TOGETHER if device.type == "cuda" else ALONE
    start = time.perf_counter()
    first = _trained(kind, device, count, FEW_EPOCHS)
    if time.perf_counter() - start >= seconds and device.type != "cuda":
        return first  # a processor so slow that five epochs take all the time
    epochs = int(seconds * first.epochs / max(first.seconds, 1e-9))
    return _trained(kind, device, count, max(FEW_EPOCHS, min(epochs, PAPERS_EPOCHS)))


def _trained(kind: str, device: torch.device, count: int, epochs: int) -> Timing:
    settings = replace(KINDS[kind], training=TrainingSettings(epochs=epochs))
    runs = [replace(settings, seed=seed) for seed in range(count)]
    trained = train(
        runs, device=device, history_stride=epochs, progress=False, check_gradients=False
    )
    seconds = sum(run.seconds for run in trained)
    first = trained[0]
    return Timing(kind, first.engine, first.precision, count, epochs, seconds)
