"""What a sweep on Ray does in a worker: train and analyse one shard of runs and send its rows
back. It writes nothing.
"""

import pickle
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from algophase.core.devices import device_name
from algophase.core.errors import InputError
from algophase.core.messages import listening
from algophase.core.settings import RunSettings
from algophase.runs.overview import outcome
from algophase.sweeps.provenance import version
from algophase.sweeps.ray_cluster import Board
from algophase.sweeps.work import Finished, Options, finish
from algophase.training.engines.sizing import cost
from algophase.training.run.trained import Progress


class WrongSoftware(InputError):
    """A worker whose rows would differ: its versions are not the driver's."""


@dataclass(frozen=True)
class TaskRuns:
    """The runs of one task with their places in the space, one mapping per ensemble."""

    space: str
    ensembles: list[dict[RunSettings, int]]
    options: Options
    keep_weights: str | int

    @property
    def indices(self) -> list[int]:
        return [index for places in self.ensembles for index in places.values()]

    @property
    def work(self) -> float:
        return sum(map(cost, chain(*self.ensembles)))


@dataclass(frozen=True)
class TaskResult:
    """What a task sends back. messages: level and text of each; seconds: how long it took."""

    finished: Finished
    device: str
    messages: list[tuple[int, str]]
    seconds: float


def software() -> dict[str, str]:
    """Versions that must be equal on all nodes. The same torch is built for CPUs and for several
    versions of CUDA.
    """
    return {"algophase": version(), "torch": torch.__version__.partition("+")[0]}


def make_shard(number: int, expected: dict[str, str], packed: bytes, board: Any) -> TaskResult:
    """The task. packed: a `TaskRuns`, opened only by the same versions of the software that packed
    it.
    """
    begun = time.monotonic()
    here = software()
    if here != expected:
        raise WrongSoftware(
            f"node {platform.node()} has {_listed(here)}; the driver has {_listed(expected)}: "
            "install the same on all nodes"
        )
    shard: TaskRuns = pickle.loads(packed)
    device = torch.device(shard.options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"torch sees no GPU on node {platform.node()}, which has one: install a torch with "
            "CUDA there"
        )
    torch.set_num_threads(1)  # a task has one CPU
    post, messages, made = Board.poster(board, number), list[tuple[int, str]](), list[Finished]()
    with listening(lambda level, text: messages.append((level, text))):
        for place, places in enumerate(shard.ensembles):
            post(place / len(shard.ensembles))
            watch, groups = (
                _watching(post, place, len(shard.ensembles)),
                shard.options.plan(list(places)),
            )
            made += finish(
                shard.space, groups, places, shard.options, progress=watch, check_gradients=True
            )
    return TaskResult(
        _joined(made, shard.keep_weights), device_name(device), messages, time.monotonic() - begun
    )


def _watching(post: Callable[[float], None], place: int, count: int) -> Callable[[Progress], None]:
    def watch(progress: Progress) -> None:
        post((place + progress.share) / count)

    return watch


def _listed(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {number}" for name, number in versions.items())


def _joined(made: list[Finished], keep_weights: str | int) -> Finished:
    """All in one, without networks that the driver would not keep: it takes the first few of
    each outcome, in this order.
    """
    rows = [row for finished in made for row in finished.rows]
    by_outcome: dict[str, list[str]] = {}
    for row in rows:
        by_outcome.setdefault(outcome(row), []).append(row["run_id"])
    limit = (
        keep_weights if isinstance(keep_weights, int) else {"none": 0, "all": None}[keep_weights]
    )
    wanted = {run_id for ids in by_outcome.values() for run_id in ids[:limit]}
    networks = {
        name: network
        for finished in made
        for name, network in finished.networks.items()
        if name in wanted
    }
    moments = [row for finished in made for row in finished.moments]
    snapshots = {
        name: earlier
        for finished in made
        for name, earlier in finished.snapshots.items()
        if name in wanted
    }
    return Finished(
        rows=rows,
        networks=networks,
        training_seconds=sum(finished.training_seconds for finished in made),
        analysis_seconds=sum(finished.analysis_seconds for finished in made),
        moments=moments,
        snapshots=snapshots,
    )
