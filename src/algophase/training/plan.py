"""Before any training: which engine, device and precision, and which runs share an ensemble.

Runs share one if they can be stacked (`networks.stacking`) and train for as many epochs. Widths may differ, but not by so
much that padding costs more than sharing gains.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from algophase.errors import InputError
from algophase.networks.stacking import stack_key
from algophase.settings import LinearSettings, RunSettings, TransformerSettings
from algophase.training.engine import Engine
from algophase.training.fused import FusedTransformer
from algophase.training.grid import GridTransformer
from algophase.training.grid_linear import GridLinear
from algophase.training.plain import PlainEngine
from algophase.training.precision import missing_triton
from algophase.training.sizing import largest_ensemble
from algophase.training.stacked import StackedEngine
from algophase.training.trained import Notice, ignore


def _grid(run: RunSettings) -> type[Engine]:
    return GridLinear if isinstance(run.network, LinearSettings) else GridTransformer


# What trains a run under each name: engines of one name differ by kind of network.
ENGINES: dict[str, Callable[[RunSettings], type[Engine]]] = {
    "plain": lambda run: PlainEngine,
    "stacked": lambda run: StackedEngine,
    "grid": _grid,
    "fused": lambda run: FusedTransformer,
}

# The default precision of each kind of device, and the others it offers (evidence: docs/). TF32 products exist on a GPU only.
PRECISIONS = {"cuda": ("tf32", "float32", "tf32x3", "float64"), "cpu": ("float32", "float64")}

PADDING_SHARE, PADDING_SLACK = 0.25, 16  # a network may be padded by a quarter of its width, or by 16


@dataclass(frozen=True)
class Group:
    """Runs that train together; `indices` are their places in the list that was given."""

    indices: tuple[int, ...]
    runs: tuple[RunSettings, ...]
    engine: str
    device: torch.device
    precision: str

    @property
    def epochs(self) -> int:
        return self.runs[0].training.epochs

    @property
    def engine_class(self) -> type[Engine]:
        return ENGINES[self.engine](self.runs[0])

    def halves(self) -> tuple["Group", "Group"]:
        cut = (len(self.runs) + 1) // 2
        first, second = (
            Group(self.indices[part], self.runs[part], self.engine, self.device, self.precision)
            for part in (slice(cut), slice(cut, None))
        )
        return first, second


def plan(
    runs: Sequence[RunSettings],
    engine: str = "auto",
    device: str = "auto",
    precision: str | None = None,
    ensemble_size: int | None = None,
    notice: Notice = ignore,
) -> list[Group]:
    """Groups in the order in which they train. What falls back to something else is told to `notice`."""
    for run in runs:
        if not isinstance(run, RunSettings):
            raise InputError(f"a run is {run!r}; it must be RunSettings")
        if not isinstance(run.network, TransformerSettings | LinearSettings):
            raise InputError(f"a {run.network.kind} network has nothing to train; choose a transformer or a linear model")
    if isinstance(ensemble_size, bool) or (
        ensemble_size is not None and (not isinstance(ensemble_size, int) or ensemble_size < 1)
    ):
        raise InputError(f"ensemble_size is {ensemble_size!r}; it must be an integer of at least 1, or None for as many as fit")
    chosen, fell_back = choose_device(device, notice)
    chosen_precision = choose_precision(precision, chosen, fell_back, notice)
    engine = _available(engine, chosen, notice)
    names = [choose_engine(run, engine, chosen, chosen_precision) for run in runs]
    families: dict[tuple[object, ...], list[int]] = {}
    for index, run in enumerate(runs):
        families.setdefault((names[index], run.training.epochs, *stack_key(run)), []).append(index)
    return [
        Group(tuple(indices), tuple(runs[i] for i in indices), names[members[0]], chosen, chosen_precision)
        for members in families.values()
        for indices in _split(runs, members, names[members[0]], chosen, chosen_precision, ensemble_size)
    ]


def choose_device(device: str, notice: Notice = ignore) -> tuple[torch.device, bool]:
    """The device, and whether it stands in for a GPU that was asked for and is not there."""
    if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise InputError(f"device is {device!r}; choose one of auto, cpu, cuda, cuda:0, cuda:1, ...")
    if device == "cpu" or (device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu"), False
    if not torch.cuda.is_available():
        notice(f"no GPU was found for device {device}: training on the CPU instead")
        return torch.device("cpu"), True
    number, count = int(device.partition(":")[2] or torch.cuda.current_device()), torch.cuda.device_count()
    if number >= count:
        raise InputError(f"device is {device!r}; this machine has {', '.join(f'cuda:{i}' for i in range(count))}")
    return torch.device("cuda", number), False


def choose_precision(precision: str | None, device: torch.device, fell_back: bool = False, notice: Notice = ignore) -> str:
    """The precision asked for, or the device's default."""
    offered = PRECISIONS[device.type]
    if precision is None:
        return offered[0]
    if fell_back and precision in PRECISIONS["cuda"] and precision not in offered:
        notice(f"precision {precision} needs a GPU: training in {offered[0]} instead")
        return offered[0]
    if precision not in offered:
        raise InputError(f"precision is {precision!r}; on {device.type} choose one of {', '.join(sorted(offered))}")
    return precision


def _available(engine: str, device: torch.device, notice: Notice) -> str:
    """The engine asked for, or the grid in plain torch where the machine lacks what the fused kernels need."""
    if engine not in ("auto", *ENGINES):
        raise InputError(f"engine is {engine!r}; choose one of auto, {', '.join(ENGINES)}")
    lacking = "there is no GPU" if device.type != "cuda" else missing_triton()
    if engine == "fused" and lacking is not None:
        notice(f"the fused engine cannot run here, {lacking}: training with the grid engine instead")
        return "grid"
    return engine


def choose_engine(run: RunSettings, engine: str, device: torch.device, precision: str) -> str:
    """The fastest engine that trains the run on the device, or the one asked for if it can."""
    if engine == "auto":
        preference = ["fused", "grid", "stacked"]
        if device.type == "cuda" and isinstance(run.network, TransformerSettings):
            preference.remove("grid")  # it takes the networks one by one, which leaves a GPU idle
        return next(name for name in preference if _refusal(run, name, device, precision) is None)
    refusal = _refusal(run, engine, device, precision)
    if refusal is not None:
        able = [name for name in ENGINES if _refusal(run, name, device, precision) is None]
        raise InputError(f"the {engine} engine cannot train run {run.run_id}: {refusal}; choose one of auto, {', '.join(able)}")
    return engine


def _refusal(run: RunSettings, engine: str, device: torch.device, precision: str) -> str | None:
    if engine == "fused" and precision == "float64":
        return "it has no float64"
    return ENGINES[engine](run).unsupported(run, device)


def _sizes(run: RunSettings) -> tuple[int, int]:
    network = run.network
    assert isinstance(network, TransformerSettings | LinearSettings)
    return network.width, network.hidden if isinstance(network, LinearSettings) else 0


def _split(
    runs: Sequence[RunSettings], members: list[int], engine: str, device: torch.device, precision: str, size: int | None
) -> list[list[int]]:
    """Ensembles from runs that could all share one, narrow ones first, each filled before the next is begun."""
    ensembles: list[list[int]] = []
    smallest = largest = (0, 0)  # the extremes of the ensemble being filled
    for index in sorted(members, key=lambda index: _sizes(runs[index])):
        sizes = _sizes(runs[index])
        low, high = _extreme(min, smallest, sizes), _extreme(max, largest, sizes)
        limit = 1 if engine == "plain" else size or largest_ensemble(engine, runs[index], device, precision)
        if not ensembles or len(ensembles[-1]) >= limit or any(map(_wasteful, low, high)):
            ensembles.append([])
            low = high = sizes
        ensembles[-1].append(index)
        smallest, largest = low, high
    return ensembles


def _extreme(pick: Callable[[int, int], int], first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return pick(first[0], second[0]), pick(first[1], second[1])


def _wasteful(smallest: int, largest: int) -> bool:
    """Whether padding one size to the other costs too much."""
    return largest > (1 + PADDING_SHARE) * smallest and largest > smallest + PADDING_SLACK


def describe(groups: Sequence[Group]) -> list[str]:
    """One line for every engine in use: how many networks, where, how and in how many ensembles."""
    lines = []
    for engine in dict.fromkeys(group.engine for group in groups):
        mine = [group for group in groups if group.engine == engine]
        networks = sum(len(group.runs) for group in mine)
        count = f"{networks} network{'s' * (networks != 1)}"
        shared = f", in {len(mine)} ensembles of at most {max(len(group.runs) for group in mine)}" if len(mine) > 1 else ""
        lines.append(f"training {count} with the {engine} engine on {mine[0].device} in {mine[0].precision}{shared}")
    return lines


def distinct_engines() -> list[type[Engine]]:
    """Every engine class, the yardstick left out."""
    return [StackedEngine, GridTransformer, GridLinear, FusedTransformer]
