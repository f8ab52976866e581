"""What a sweep on Ray does in a worker: train and analyze one shard of runs and send its rows
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
from algophase.core.progress import Progress, listening
from algophase.core.settings import RunSettings
from algophase.runs.overview import outcome
from algophase.sweeps._ray_cluster import Board
from algophase.sweeps.backlog import Finished
from algophase.sweeps.options import Options
from algophase.sweeps.provenance import version
from algophase.sweeps.work import finish
from algophase.training.engines.sizing import cost


class WrongSoftware(InputError):
    """A worker whose rows would differ: its versions are not the driver's."""


@dataclass(frozen=True)
class TaskRuns:
    """The runs of one task with their indices in the space, one mapping per ensemble."""

    space: str
    ensembles: list[dict[RunSettings, int]]
    options: Options
    keep_weights: str | int

    @property
    def indices(self) -> list[int]:
        return [index for ensemble in self.ensembles for index in ensemble.values()]

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
    start = time.monotonic()
    versions = software()
    if versions != expected:
        raise WrongSoftware(
            f"node {platform.node()} has {_listed(versions)}; the driver has {_listed(expected)}: "
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
    post = Board.poster(board, number)
    messages = list[tuple[int, str]]()
    finished = list[Finished]()
    count = len(shard.ensembles)
    with listening(lambda level, text: messages.append((level, text))):
        for done, indices in enumerate(shard.ensembles):
            post(done / count)
            watch = _watching(post, done, count)
            groups = shard.options.plan(list(indices))
            finished += finish(
                shard.space, groups, indices, shard.options, progress=watch, check_gradients=True
            )
    joined = _joined(finished, shard.keep_weights)
    return TaskResult(joined, device_name(device), messages, time.monotonic() - start)


def _watching(post: Callable[[float], None], done: int, count: int) -> Callable[[Progress], None]:
    """Posts the share of the task that is done, from that of its current ensemble."""

    def watch(progress: Progress) -> None:
        post((done + progress.share) / count)

    return watch


def _listed(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {number}" for name, number in versions.items())


def _joined(parts: list[Finished], keep_weights: str | int) -> Finished:
    """All in one, without networks that the driver would not keep: it takes the first few of
    each outcome, in this order.
    """
    rows = [row for part in parts for row in part.rows]
    by_outcome: dict[str, list[str]] = {}
    for row in rows:
        by_outcome.setdefault(outcome(row), []).append(row["run_id"])
    limit = keep_weights
    if not isinstance(limit, int):
        limit = {"none": 0, "all": len(rows)}[limit]
    kept = set()
    for run_ids in by_outcome.values():
        kept |= set(run_ids[:limit])
    networks = [item for part in parts for item in part.networks.items()]
    snapshots = [item for part in parts for item in part.snapshots.items()]
    return Finished(
        rows=rows,
        networks={run_id: network for run_id, network in networks if run_id in kept},
        training_seconds=sum(part.training_seconds for part in parts),
        analysis_seconds=sum(part.analysis_seconds for part in parts),
        moments=[row for part in parts for row in part.moments],
        snapshots={run_id: earlier for run_id, earlier in snapshots if run_id in kept},
    )
