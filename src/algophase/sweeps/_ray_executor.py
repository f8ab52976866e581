"""`sweep_on_ray`: what `sweep` does, on a Ray cluster: one shard of runs per task, on any node with
a free GPU or CPU.

Tasks write nothing. They send their rows, and networks that may be kept, to the driver, which alone
writes into the directory. A task that died with its worker or its node is simply run again, and
leaves nothing behind. See docs/cluster.md.
"""

import logging
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from algophase.core.errors import InputError
from algophase.core.interrupts import held_interrupts
from algophase.core.progress import Progress, ignore
from algophase.core.settings import RunSettings
from algophase.core.wording import counted
from algophase.networks.stacking import padded_settings, round_size, stack_key
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps._ray_cluster import Board, alive, check_address, connected, import_ray
from algophase.sweeps._ray_task import TaskResult, TaskRuns, WrongSoftware, make_shard, software
from algophase.sweeps.options import Options
from algophase.sweeps.sweep import Outcome, Request, SweepCall, begin
from algophase.training.engines.sizing import cost
from algophase.training.run.plan import check_options, choose_precision

log = logging.getLogger(__name__)

DEFAULT_SHARD = {"GPU": 512, "CPU": 16}
AHEAD = 2  # tasks in flight for each that can run, so that the next is there when one ends
RETRIES = 10  # of a task whose worker or node died
TOLERATED = 2  # failed shards after which they must be fewer than those made
TURN_SECONDS = 0.5  # between two looks at the clock and at Ctrl-C


def sweep_on_ray(
    request: Request,
    directory: SweepDirectory,
    address: str | None = None,
    shard: int | None = None,
    report: Callable[[Progress], None] = ignore,
) -> Outcome:
    """Train and analyze what is missing, as `sweep` does, in tasks of at most `shard` runs that
    stack well together.

    address: HOST:PORT of a cluster, "auto" for the one this machine is a node of, None to start one
        here for this sweep.
    A shard that fails is logged, and the others go on; see `Driver.failed` for when they do not.
    """
    start = time.monotonic()
    if isinstance(shard, bool) or (shard is not None and (not isinstance(shard, int) or shard < 1)):
        raise InputError(
            f"shard is {shard!r}; it must be an integer of at least 1, or None for the default"
        )
    if request.options.device not in ("auto", "cpu", "cuda"):
        raise InputError(
            f"device is {request.options.device!r}; on Ray, which hands out the GPUs, choose "
            "auto, cpu or cuda"
        )
    import_ray()
    check_address(address)
    runs = request.members()
    with directory.hold(request.command or f"a sweep of {request.space.name}"):
        done, call = begin(request, runs, directory, report)
        call.show()
        ended = "complete"
        if len(done) < len(runs):
            deadline = None if request.minutes is None else start + 60 * request.minutes
            with connected(address) as ray:
                resource = _resource(ray, request.options)
                shards = _shards(request, runs, done, resource, shard or DEFAULT_SHARD[resource])
                waiting = deque(enumerate(shards))
                ended = Driver(ray, call, resource, waiting, deadline).run()
        if ended == "complete":
            directory.complete()
    return call.outcome(ended, time.monotonic() - start)


def _resource(ray: Any, options: Options) -> str:
    """What a task needs one of: the rule of `devices.choose_device`, for a cluster."""
    if options.device == "cpu" or alive(ray, "GPU"):
        return "CPU" if options.device == "cpu" else "GPU"
    if options.device == "cuda":
        if options.strict_device:
            raise InputError("device is 'cuda'; the cluster has no GPU: choose auto or cpu")
        log.warning("the cluster has no GPU for device cuda: using CPUs instead")
    return "CPU"


def _shards(
    request: Request,
    runs: dict[int, RunSettings],
    done: Mapping[int, object],
    resource: str,
    size: int,
) -> list[TaskRuns]:
    """Shards of all runs, without what is finished; the most work first, so that no long one is
    left for last.

    Which runs train together does not depend on what is finished: the other networks of an ensemble
    can change the rounding of a network's sums. Options that no worker could use are an error now.
    """
    options = replace(request.options, device="cuda" if resource == "GPU" else "cpu")
    cut = _on_cpus if resource == "CPU" else _on_gpus
    ensembles = cut(runs, options, size)
    ensembles.sort(key=lambda ensemble: cost(runs[ensemble[0]]))
    shards = []
    for pack in _packed(ensembles, size, alone=resource == "GPU"):
        left = []
        for ensemble in pack:
            members = {runs[index]: index for index in ensemble if index not in done}
            if members:
                left.append(members)
        shards.append(TaskRuns(request.space.name, left, options, request.keep_weights))
    not_empty = [shard for shard in shards if shard.ensembles]
    return sorted(not_empty, key=lambda shard: -shard.work)


def _packed(ensembles: Sequence[list[int]], size: int, *, alone: bool) -> Iterator[list[list[int]]]:
    """Ensembles, as they come, in packs of at most `size` runs; or each in a pack of its own."""
    pack: list[list[int]] = []
    for ensemble in ensembles:
        is_full = sum(map(len, pack)) + len(ensemble) > size
        if pack and (alone or is_full):
            yield pack
            pack = []
        pack.append(ensemble)
    if pack:
        yield pack


def _on_cpus(runs: dict[int, RunSettings], options: Options, size: int) -> list[list[int]]:
    """The ensembles that this machine would train on its CPU, cut where they are larger than a
    shard.
    """
    indices = list(runs)
    groups = options.plan(list(runs.values()))
    members = [[indices[position] for position in group.indices] for group in groups]
    return [
        group[start : start + size] for group in members for start in range(0, len(group), size)
    ]


def _on_gpus(runs: dict[int, RunSettings], options: Options, size: int) -> list[list[int]]:
    """Networks that are padded to the same sizes. Each worker finds out how many of them fit
    into its GPU's memory.
    """
    check_options(options.engine, options.ensemble_size)
    choose_precision(options.precision, torch.device("cuda"))
    families: dict[tuple[object, ...], list[int]] = {}
    for index, run in runs.items():
        key = (run.training.epochs, padded_settings([run], round_size), *stack_key(run))
        families.setdefault(key, []).append(index)
    return [
        family[start : start + size]
        for family in families.values()
        for start in range(0, len(family), size)
    ]


@dataclass
class Driver:
    """Hands out shards and records what comes back.

    resource: "GPU" or "CPU". waiting: numbered shards not handed out yet. flying: by reference,
        those handed out.
    """

    ray: Any
    call: SweepCall
    resource: str
    waiting: deque[tuple[int, TaskRuns]]
    deadline: float | None
    flying: dict[Any, tuple[int, TaskRuns]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    shards_done: int = 0
    seconds: float = 0.0  # that tasks took, all together
    work: float = 0.0
    slots: int = 0
    board: Board = field(init=False)

    def run(self) -> str:
        """How it ended, as an `Outcome` has it."""
        count = len(self.waiting)
        nodes = alive(self.ray, self.resource)
        self.slots = sum(nodes.values())
        log.info(
            "%s in %s, %d at a time on %s, one %s each",
            counted(sum(len(shard.indices) for _, shard in self.waiting), "run"),
            counted(count, "shard"),
            self.slots,
            counted(len(nodes), "node"),
            self.resource,
        )
        self.board = Board(self.ray)
        self.call.started = time.monotonic()
        try:
            with held_interrupts() as interrupted:
                ended = self._rounds(interrupted)
        except KeyboardInterrupt:
            ended = "interrupted"
        finally:
            given_up = self._give_up()
        if given_up:
            advice = ""
            if ended == "out of time" and not self.shards_done:
                advice = "; none was done: allow more time, or use smaller shards"
            log.warning(
                "%s in flight given up, to be done next time%s", counted(given_up, "shard"), advice
            )
        if self.failures and ended == "complete":
            raise InputError(
                f"{len(self.failures)} of {counted(count, 'shard')} failed, the last one: "
                f"{self.failures[-1]}; all others are in {self.call.directory.path}, and the same "
                "command tries these again"
            )
        return ended

    def _rounds(self, interrupted: Callable[[], bool]) -> str:
        while self.waiting or self.flying:
            if interrupted():
                return "interrupted"
            if self.deadline is not None and time.monotonic() >= self.deadline:
                return "out of time"
            self._hand_out()
            if not self.flying:
                return "out of time"  # what is left would take longer than there is time
            ready, _ = self.ray.wait(list(self.flying), num_returns=1, timeout=self._turn())
            for reference in ready:
                self._receive(reference)
            self._show()
        return "complete"

    def _turn(self) -> float:
        """Seconds to wait before the next look at the cluster."""
        if self.deadline is None:
            return TURN_SECONDS
        return max(0.0, min(TURN_SECONDS, self.deadline - time.monotonic()))

    def _hand_out(self) -> None:
        # A node that joins is used, and one that leaves is not waited for.
        self.slots = sum(alive(self.ray, self.resource).values())
        remote = self.ray.remote(
            num_cpus=1, num_gpus=int(self.resource == "GPU"), max_retries=RETRIES
        )
        task = remote(make_shard)
        most = AHEAD * max(1, self.slots)
        while self.waiting and len(self.flying) < most and self._fits(self.waiting[0][1]):
            number, shard = self.waiting.popleft()
            reference = task.remote(number, software(), pickle.dumps(shard), self.board.actor)
            self.flying[reference] = number, shard

    def _fits(self, shard: TaskRuns) -> bool:
        """Whether there is time for it, after one that runs now where all slots are taken. At
        first nothing is known.
        """
        if self.deadline is None or not self.work:
            return True
        rounds = 1 if len(self.flying) < self.slots else 2
        needed = rounds * shard.work * self.seconds / self.work
        return time.monotonic() + needed <= self.deadline

    def _receive(self, reference: Any) -> None:
        _, shard = self.flying.pop(reference)
        try:
            result: TaskResult = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, WrongSoftware):
                raise InputError(str(error.cause)) from None
            self.failed(shard, _reason(error.cause))
        except self.ray.exceptions.RayError as error:
            self.failed(shard, f"given up after {RETRIES} retries: {_reason(error)}")
        else:
            self.shards_done += 1
            self.seconds += result.seconds
            self.work += shard.work
            for level, text in result.messages:
                log.log(level, "%s", text)
            self.call.add(result.finished, result.device)

    def failed(self, shard: TaskRuns, reason: str) -> None:
        """The others go on, unless so many have failed that something is wrong with all of them."""
        self.failures.append(
            f"run {min(shard.indices)} and {len(shard.indices) - 1} more: {reason}"
        )
        log.warning("a shard failed, %s", self.failures[-1])
        if len(self.failures) > max(TOLERATED, self.shards_done):
            raise InputError(
                f"{len(self.failures)} shards failed and {self.shards_done} did not: the sweep "
                f"stops here, at {self.failures[-1]}"
            )

    def _show(self) -> None:
        nodes = alive(self.ray, self.resource)
        in_flight = dict(self.flying.values())
        posted = {
            number: state
            for number, state in self.board.read().items()
            if number in in_flight and state[0] in nodes
        }
        self.call.under_way = sum(
            in_flight[number].work * fraction for number, (_, fraction) in posted.items()
        )
        busy_nodes = {node for node, _ in posted.values()}
        tasks = counted(len(posted), "task")
        doing = f"{tasks} running on {counted(len(busy_nodes), 'node')}"
        if not nodes:
            doing = f"waiting for a node with a {self.resource}"
        self.call.show(doing)

    def _give_up(self) -> int:
        for reference in self.flying:
            self.ray.cancel(reference, force=True)
        self.board.close()
        return len(self.flying)


def _reason(error: BaseException) -> str:
    if isinstance(error, InputError):
        return str(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
