"""Before any training: which engine, device and precision, and which runs share an ensemble.

Runs share one if they can be stacked (`networks.stacking`), are padded to the same sizes and train
for as many epochs, with the same optimizer and loss.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    RunSettings,
    TransformerSettings,
    shown,
    trained_kinds,
)
from algophase.core.wording import counted
from algophase.networks.stacking import stack_key
from algophase.training.engines.deep import DeepTransformer
from algophase.training.engines.engine import Engine, missing_triton
from algophase.training.engines.fused import FusedTransformer
from algophase.training.engines.fused_linear import FusedLinear
from algophase.training.engines.grid import GridTransformer
from algophase.training.engines.grid_linear import GridLinear
from algophase.training.engines.plain import PlainEngine
from algophase.training.engines.sizing import largest_ensemble
from algophase.training.engines.stacked import StackedEngine

log = logging.getLogger(__name__)


def _fused(run: RunSettings) -> type[Engine]:
    if isinstance(run.network, LinearSettings):
        return FusedLinear
    return (
        DeepTransformer
        if isinstance(run.network, TransformerSettings) and run.network.layers > 1
        else FusedTransformer
    )


# What trains a run under each name: engines of one name differ by kind of network.
ENGINES: dict[str, Callable[[RunSettings], type[Engine]]] = {
    "plain": lambda run: PlainEngine,
    "stacked": lambda run: StackedEngine,
    "grid": lambda run: GridLinear if isinstance(run.network, LinearSettings) else GridTransformer,
    "fused": _fused,
}

# What each kind of device offers. By default an engine takes the first it has (evidence:
# docs/engines.md).
PRECISIONS = {"cuda": ("half", "tf32", "float32", "float64"), "cpu": ("float32", "float64")}


@dataclass(frozen=True)
class PlannedEnsemble:
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

    def halves(self) -> tuple["PlannedEnsemble", "PlannedEnsemble"]:
        cut = (len(self.runs) + 1) // 2
        return self.only(range(cut)), self.only(range(cut, len(self.runs)))

    def only(self, positions: Sequence[int]) -> "PlannedEnsemble":
        """Some of these runs, by their positions here."""
        return replace(
            self,
            indices=tuple(self.indices[position] for position in positions),
            runs=tuple(self.runs[position] for position in positions),
        )


def plan(
    runs: Sequence[RunSettings],
    engine: str = "auto",
    device: torch.device | str = "auto",
    precision: str | None = None,
    ensemble_size: int | None = None,
    *,
    strict_device: bool = False,
) -> list[PlannedEnsemble]:
    """Groups in the order in which they train. What is replaced by something else is logged as a
    warning.
    """
    if not isinstance(runs, Sequence):
        raise InputError(f"runs is {shown(runs)}; give a list of RunSettings")
    for run in runs:
        if not isinstance(run, RunSettings):
            raise InputError(f"a run is {shown(run)}; it must be RunSettings")
        if not run.network.trained:
            choices = ", ".join(trained_kinds())
            raise InputError(
                f"a {run.network.kind} network has nothing to train; choose one of {choices}"
            )
    check_options(engine, ensemble_size)
    chosen = choose_device(device, strict=strict_device)
    chosen_precision = choose_precision(precision, chosen, instead_of=device)
    engine = _available(engine, chosen)
    ways = [choose_way(run, engine, chosen, chosen_precision) for run in runs]
    families: dict[tuple[object, ...], list[int]] = {}
    for index, run in enumerate(runs):
        name, used = ways[index]
        padded = ENGINES[name](run).padded([run], chosen)
        key = (name, used, run.training.epochs, run.training.method, *stack_key(run), padded)
        families.setdefault(key, []).append(index)
    groups = []
    for members in families.values():
        name, used = ways[members[0]]
        first = runs[members[0]]
        engine_class = ENGINES[name](first)
        padded = engine_class.padded([first], chosen)
        limit = 1 if engine_class.one_at_a_time else ensemble_size
        if limit is None:
            limit = largest_ensemble(engine_class, first.task, padded, chosen, used)
        for start in range(0, len(members), limit):
            indices = tuple(members[start : start + limit])
            together = tuple(runs[index] for index in indices)
            groups.append(PlannedEnsemble(indices, together, name, chosen, used))
    return groups


def check_options(engine: str, ensemble_size: int | None) -> None:
    """What is wrong on every device."""
    is_count = isinstance(ensemble_size, int) and not isinstance(ensemble_size, bool)
    if ensemble_size is not None and not (is_count and ensemble_size > 0):
        raise InputError(
            f"ensemble_size is {ensemble_size!r}; it must be an integer of at least 1, or None "
            "for as many as fit"
        )
    if engine not in ("auto", *ENGINES):
        raise InputError(f"engine is {engine!r}; choose one of auto, {', '.join(ENGINES)}")


def choose_precision(
    precision: str | None, device: torch.device, instead_of: torch.device | str = "auto"
) -> str | None:
    """The precision asked for if the device has it; None stays None, for the engine's default.

    instead_of: the device asked for. Where the CPU took over from a GPU, it also takes over from a
        precision that needs one.
    """
    offered = PRECISIONS[device.type]
    if precision is None:
        return None
    took_over = device.type == "cpu" and str(instead_of).startswith("cuda")
    if took_over and precision in PRECISIONS["cuda"] and precision not in offered:
        log.warning("precision %s needs a GPU: training in %s instead", precision, offered[0])
        return offered[0]
    if precision not in offered:
        raise InputError(
            f"precision is {precision!r}; on {device.type} choose one of "
            f"{', '.join(sorted(offered))}"
        )
    return precision


def _available(engine: str, device: torch.device) -> str:
    """The engine asked for, or the grid engine in PyTorch alone where the machine lacks what the
    fused kernels need.
    """
    lacking = "there is no GPU" if device.type != "cuda" else missing_triton()
    if engine == "fused" and lacking is not None:
        log.warning(
            "the fused engine cannot run here, %s: training with the grid engine instead", lacking
        )
        return "grid"
    return engine


def choose_way(
    run: RunSettings, engine: str, device: torch.device, precision: str | None
) -> tuple[str, str]:
    """Engine and precision of a run: by default half where the fused engine has it for the run."""
    if precision is None:
        offered = PRECISIONS[device.type]
        may_be_fused = engine in ("auto", "fused") and "half" in offered
        if may_be_fused and why_not(run, "fused", device, "half") is None:
            precision = "half"
        else:
            precision = next(one for one in offered if one != "half")
    return choose_engine(run, engine, device, precision), precision


def choose_engine(run: RunSettings, engine: str, device: torch.device, precision: str) -> str:
    """The fastest engine that trains the run on the device, or the one asked for if it can."""
    if engine == "auto":
        preference = ["fused", "grid", "stacked", "plain"]
        if device.type == "cuda" and isinstance(run.network, TransformerSettings):
            preference.remove("grid")  # it takes the networks one by one, which leaves a GPU idle
        for name in preference:
            if why_not(run, name, device, precision) is None:
                return name
        raise InputError(
            f"run {run.run_id} cannot be trained in {precision}: "
            f"{why_not(run, 'fused', device, precision)}"
        )
    reason = why_not(run, engine, device, precision)
    if reason is not None:
        able = [name for name in ENGINES if why_not(run, name, device, precision) is None]
        raise InputError(
            f"the {engine} engine cannot train run {run.run_id}: {reason}; choose one of auto, "
            f"{', '.join(able)}"
        )
    return engine


def why_not(run: RunSettings, engine: str, device: torch.device, precision: str) -> str | None:
    engine_class = ENGINES[engine](run)
    reason = engine_class.unsupported(run, device) or engine_class.unsupported_loss(run)
    offered = engine_class.precisions(device)
    if reason is not None or precision in offered:
        return reason
    return f"it has precision {' or '.join(offered)}, not {precision}"


def describe(groups: Sequence[PlannedEnsemble]) -> list[str]:
    """One line per engine and precision in use: how many networks, on which device and in how
    many ensembles.
    """
    alike: dict[tuple[str, str], list[PlannedEnsemble]] = {}
    for group in groups:
        alike.setdefault((group.engine, group.precision), []).append(group)
    lines = []
    for (engine, precision), members in alike.items():
        sizes = [len(group.runs) for group in members]
        count = counted(sum(sizes), "network")
        where = f"{members[0].device} in {precision}"
        if len(members) > 1:
            where += f", in {len(members)} ensembles of at most {max(sizes)}"
        reason = _why_not_fused(members[0])
        lines.append(f"training {count} with the {engine} engine on {where}{reason}")
    return lines


def _why_not_fused(group: PlannedEnsemble) -> str:
    """On a GPU, what keeps its fastest engine from training these runs; "" if nothing does."""
    if group.device.type != "cuda" or group.engine == "fused":
        return ""
    reason = why_not(group.runs[0], "fused", group.device, "half")
    return "" if reason is None else f" (not the fused one: {reason})"


def distinct_engines() -> list[type[Engine]]:
    """Every engine class but the plain one, which the others are compared with."""
    return [
        StackedEngine,
        GridTransformer,
        GridLinear,
        FusedTransformer,
        DeepTransformer,
        FusedLinear,
    ]
