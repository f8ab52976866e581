"""Training one ensemble: an epoch is one call (on a GPU one replayed CUDA graph), all else happens
between chunks of epochs.

A chunk ends at the next epoch at which something is recorded, or after about half a second,
whichever is first: progress, Ctrl-C and checkpoints are then timely, and the host does nothing
inside a chunk but start epochs. No number depends on where chunks end.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.progress import ignore
from algophase.core.threads import one_thread
from algophase.networks import Network
from algophase.networks.stacking import take_out
from algophase.record.layout import to_record
from algophase.training.engines.crew import Pace
from algophase.training.run.checkpoint import Checkpoint, Checkpointer, Description
from algophase.training.run.optimizer import make_optimizer
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.trained import CURVES, HistoryRecorder, TrainedRun
from algophase.training.run.turns import Meanwhile, in_turns, nothing

log = logging.getLogger(__name__)

CHUNK_SECONDS = 0.5


@dataclass(frozen=True)
class EarlyStop:
    """Stop an ensemble once all of its networks are done.

    A network is done once its validation accuracy is 1 and its training loss is low at several
    history points in a row. Diverged networks do not count. Without validation pairs the loss
    decides.

    Arguments:
        training_loss: the training loss must be below this.
        points: at this many history points in a row.

    Example:
        >>> from algophase import EarlyStop
        >>> EarlyStop(training_loss=1e-4)
        EarlyStop(training_loss=0.0001, points=3)
    """

    training_loss: float = 1e-6
    points: int = 3

    def __post_init__(self) -> None:
        if not self.training_loss > 0:
            raise InputError(
                f"the training loss of an early stop is {self.training_loss!r}; it must be above 0"
            )
        if self.points < 1:
            raise InputError(
                f"the points of an early stop are {self.points!r}; it must be at least 1"
            )


@dataclass(frozen=True)
class Watch:
    """What to record along training, and whether to stop early.

    Epoch 0, the last and those of snapshots are always in the history. An early stop looks only at
    multiples of the stride.
    """

    history_stride: int = 100
    snapshot_epochs: tuple[int, ...] = ()
    early_stop: EarlyStop | None = None

    def __post_init__(self) -> None:
        stride = self.history_stride
        if isinstance(stride, bool) or not isinstance(stride, int) or stride < 1:
            raise InputError(f"history_stride is {stride!r}; it must be an integer of at least 1")
        for epoch in self.snapshot_epochs:
            if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
                raise InputError(
                    f"a snapshot epoch is {epoch!r}; it must be an integer of at least 0"
                )
        in_order = sorted(set(self.snapshot_epochs))
        object.__setattr__(self, "snapshot_epochs", tuple(in_order))

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = to_record(self)
        return record


class Ensemble:
    """A group of runs in training: engine, optimizer, what was recorded, and the epoch reached."""

    def __init__(self, group: PlannedEnsemble, watch: Watch = Watch()) -> None:
        self.group, self.watch = group, watch
        on_gpu = group.device.type == "cuda"
        # Its own: ensembles that train side by side do not wait for each other, and share no
        # workspace of a library.
        self.stream = torch.cuda.Stream(group.device) if on_gpu else None
        self.epoch = 0
        self.seconds = 0.0
        self.reported: set[int] = set()  # networks whose divergence was logged
        self.began_at = 0  # the epoch at which it was built or restored
        self.elapsed = 0.0  # how long it has trained since then
        self.saved_at = time.perf_counter()
        self.recorder = HistoryRecorder()
        self.snapshots: dict[int, dict[str, Tensor]] = {}
        with self._on_stream():
            self.engine = group.engine_class(list(group.runs), group.device, group.precision)
            self.optimizer = make_optimizer(self.engine, group.runs)
            # the epoch at which each network's training loss was first not finite, -1 before that
            count = len(group.runs)
            self.diverged_at = torch.full((count,), -1, dtype=torch.int64, device=group.device)
            # The yardstick stays as it is written; the others run from a graph.
            self.graph = self._captured() if on_gpu and group.engine != "plain" else None
            self._visit()  # it ends when the device is done: what follows may use any stream
        self.pace = Pace(self.engine.crew)
        self.chunk = 1  # epochs to start at a time
        self.target = 0  # the epoch at which the started ones end
        self.started = 0.0

    def _on_stream(self) -> AbstractContextManager[object]:
        """Kernels are launched on the current device and stream, which need not be ours."""
        return nullcontext() if self.stream is None else torch.cuda.stream(self.stream)

    def advance(self) -> None:
        """One epoch."""
        if self.graph is None:
            self._update()
        else:
            self.graph.replay()

    def _update(self) -> None:
        """What an epoch does, all of it on the device. A network whose loss is not finite stops
        here, before it is updated.
        """
        loss = self.engine.loss_and_gradient()
        self.optimizer.epoch(self.engine.gradients, loss, self.diverged_at)

    def _captured(self) -> torch.cuda.CUDAGraph:
        """`_update` as a CUDA graph. The warm-up that capturing needs is undone: it does not
        count as training.
        """
        untrained = {name: value.clone() for name, value in self._state().items()}
        for _ in range(3):
            self._update()
        self._set_state(untrained)
        del untrained  # so that the graph's own memory can take its place
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            self._update()
        return graph

    def _state(self) -> dict[str, Tensor]:
        """Every tensor that an epoch changes."""
        return {
            "parameters": self.engine.parameters.flat,
            "diverged_at": self.diverged_at,
            **self.optimizer.state(),
        }

    def _set_state(self, values: Mapping[str, Tensor]) -> None:
        for name, tensor in self._state().items():
            tensor.copy_(values[name])

    @property
    def finished(self) -> bool:
        return self.epoch >= self.group.epochs or self._stops_early()

    def _stops_early(self) -> bool:
        rule = self.watch.early_stop
        if rule is None:
            return False
        points = [
            position
            for position, epoch in enumerate(self.recorder.epochs)
            if epoch % self.watch.history_stride == 0
        ]
        if len(points) < rule.points or self.recorder.epochs[points[-1]] != self.epoch:
            return False
        last_points = points[-rule.points :]
        losses = self._curves("training_loss", last_points)
        accuracies = self._curves("validation_accuracy", last_points)
        right = (accuracies == 1) | np.isnan(accuracies)  # NaN: the split has no validation pair
        converged = ((losses < rule.training_loss) & right).all(axis=0)
        diverged = (self.diverged_at >= 0).cpu().numpy()
        return bool((converged | diverged).all())

    def _curves(self, name: str, points: Sequence[int]) -> NDArray[np.float64]:
        """(points, n) of what was recorded."""
        return np.stack([self.recorder.curves[name][position] for position in points])

    def _next_stop(self) -> int:
        """The next epoch at which something is recorded."""
        stride = self.watch.history_stride
        snapshots = [epoch for epoch in self.watch.snapshot_epochs if epoch > self.epoch]
        return min(self.group.epochs, (self.epoch // stride + 1) * stride, *snapshots)

    def _visit(self) -> None:
        """Record what is due at this epoch, and report networks that diverged."""
        is_snapshot = self.epoch in self.watch.snapshot_epochs
        is_end = self.epoch == self.group.epochs
        if is_snapshot or is_end or self.epoch % self.watch.history_stride == 0:
            self.recorder.record(self.epoch, self.engine)
        if is_snapshot:
            self.snapshots[self.epoch] = {
                name: value.cpu().clone() for name, value in self.engine.export().items()
            }
        if is_end:  # no further epoch would notice it
            is_lost = torch.from_numpy(~np.isfinite(self.recorder.last("training_loss")))
            is_new = is_lost.to(self.group.device) & (self.diverged_at < 0)
            self.diverged_at.masked_fill_(is_new, self.epoch)
        self._report_diverged()

    def _report_diverged(self) -> None:
        """Log, once, each network that diverged."""
        ending = "; the others go on" if len(self.group.runs) > 1 else ""
        for index, epoch in enumerate(self.diverged_at.tolist()):
            if epoch < 0 or index in self.reported:
                continue
            self.reported.add(index)
            run = self.group.runs[index]
            log.warning(
                "run %s (seed %d) diverged at epoch %d and is frozen%s",
                run.run_id,
                run.seed,
                epoch,
                ending,
            )

    def start(self, most: int | None = None) -> None:
        """Start the epochs of a chunk, at most so many. On a GPU they are queued, and this
        returns before they are done.
        """
        epochs = min(self.pace.epochs(self.chunk), most or self.group.epochs)
        self.started = time.perf_counter()
        self.target = min(self.epoch + epochs, self._next_stop())
        with self._on_stream():
            for _ in range(self.target - self.epoch):
                self.advance()

    def wait(self, meanwhile: Meanwhile = nothing) -> None:
        """Wait for the epochs that were started, and record what is due.

        meanwhile: work for the CPU and what the GPU has left; it is called until the epochs are
            done or it returns False.
        """
        while self.is_busy() and meanwhile(self):
            pass
        if self.stream is not None:
            self.stream.synchronize()
        seconds = time.perf_counter() - self.started
        epochs = self.target - self.epoch
        self.pace.note(seconds, epochs)
        epochs_in_time = int(CHUNK_SECONDS / max(seconds / epochs, 1e-9))
        self.chunk = max(1, min(2 * self.chunk, epochs_in_time))
        self.epoch = self.target
        with self._on_stream():
            self._visit()

    def is_busy(self) -> bool:
        """Whether the GPU still trains what was started. A CPU is done when `start` returns."""
        return self.stream is not None and not self.stream.query()

    def spent(self, seconds: float, share: float) -> None:
        """Count the seconds of a turn. share: how much of them was this ensemble's."""
        self.elapsed += seconds
        self.seconds += share * seconds

    @property
    def rate(self) -> float:
        """Epochs per second, since this ensemble was built or restored."""
        return (self.epoch - self.began_at) / self.elapsed if self.elapsed > 0 else 0.0

    def train(
        self,
        checkpointer: Checkpointer | None = None,
        progress: Callable[["Ensemble"], None] = ignore,
    ) -> None:
        """Train to the end. `progress` gets the ensemble after every chunk."""
        in_turns([self], checkpointer, progress)

    def description(self) -> Description:
        group = self.group
        layout = {name: list(shape) for name, shape in self.engine.parameters.shapes.items()}
        return Description(
            group.runs,
            group.engine,
            group.device.type,
            group.precision,
            self.watch.to_dict(),
            layout,
            self.epoch,
            self.seconds,
            tuple(self.recorder.epochs),
        )

    def checkpoint(self) -> Checkpoint:
        tensors = {f"state/{name}": value for name, value in self._state().items()}
        tensors |= {f"history/{name}": value for name, value in self.recorder.tensors().items()}
        for epoch, stacked in self.snapshots.items():
            tensors |= {f"snapshot/{epoch}/{name}": value for name, value in stacked.items()}
        return Checkpoint(self.description(), tensors)

    def restore(self, checkpoint: Checkpoint, where: str = "this checkpoint") -> None:
        """Go on where a checkpoint of the same ensemble stopped. One of another, or one that was
        changed, is refused, and then nothing of it is taken. where: its place, for the message.
        """
        description = checkpoint.description
        refusal = self._refusal(checkpoint)
        if refusal is not None:
            raise InputError(f"{where} cannot be continued: {refusal}")
        parts: dict[str, dict[str, Tensor]] = {"state": {}, "history": {}, "snapshot": {}}
        for name, value in checkpoint.tensors.items():
            kind, _, rest = name.partition("/")
            parts[kind][rest] = value
        self._set_state(parts["state"])
        self.epoch = description.epoch
        self.began_at = description.epoch
        self.seconds = description.seconds
        self.recorder.restore(description.history_epochs, parts["history"])
        self.snapshots = {}
        for name, value in parts["snapshot"].items():
            epoch, _, rest = name.partition("/")
            self.snapshots.setdefault(int(epoch), {})[rest] = value

    def _refusal(self, checkpoint: Checkpoint) -> str | None:
        """Why a checkpoint is not one of this ensemble, or None if it is."""
        description = checkpoint.description
        tensors = checkpoint.tensors
        refusal = description.refusal(self.group, self.watch.to_dict())
        if refusal is not None:
            return refusal
        if dict(description.layout) != dict(self.description().layout):
            return "it was written by a version with another layout of parameters"
        expected = self._kept(description.epoch, len(description.history_epochs))
        for name in sorted(expected.keys() ^ tensors.keys()):
            problem = "is missing" if name in expected else "does not belong to it"
            return f"tensor {name} {problem}"
        for name, (shape, dtype) in expected.items():
            tensor = tensors[name]
            if tensor.shape != shape:
                return f"tensor {name} has shape {tuple(tensor.shape)}; it must be {tuple(shape)}"
            if tensor.dtype != dtype:
                return f"tensor {name} is {tensor.dtype}; it must be {dtype}"
        steps = tensors["state/steps"].item()
        if steps != description.epoch:
            return f"its optimizer has made {steps:g} steps, and its epoch is {description.epoch}"
        return None

    def _kept(self, epoch: int, points: int) -> dict[str, tuple[torch.Size, torch.dtype]]:
        """Shape and type of every tensor in a checkpoint at that epoch, with so many points of
        history.
        """
        kept = {
            f"state/{name}": (value.shape, value.dtype) for name, value in self._state().items()
        }
        curve = torch.Size((points, len(self.group.runs)))
        kept |= {f"history/{name}": (curve, torch.float64) for name in CURVES}
        taken = [snapshot for snapshot in self.watch.snapshot_epochs if snapshot <= epoch]
        exported = self.engine.export() if taken else {}
        for snapshot in taken:
            for name, value in exported.items():
                kept[f"snapshot/{snapshot}/{name}"] = (value.shape, value.dtype)
        return kept

    def results(self) -> list[TrainedRun]:
        """Every run as it stands, in the group's order."""
        stacked = {name: value.cpu() for name, value in self.engine.export().items()}
        networks = self._take_out(stacked)
        snapshots = {epoch: self._snapshots_at(epoch) for epoch in self.snapshots}
        results = []
        for index, diverged_at in enumerate(self.diverged_at.tolist()):
            along = {epoch: taken[index] for epoch, taken in snapshots.items() if index in taken}
            results.append(self._result(index, diverged_at, networks.get(index), along))
        return results

    def networks_at(self, epoch: int) -> list[Network]:
        """The networks at one of the snapshots that were taken, without those that had diverged."""
        return list(self._snapshots_at(epoch).values())

    def _snapshots_at(self, epoch: int) -> dict[int, Network]:
        """The networks at a snapshot by their indices, without those that had diverged: they are
        frozen.
        """
        taken = self._take_out(self.snapshots[epoch])
        for index, diverged_at in enumerate(self.diverged_at.tolist()):
            if 0 <= diverged_at <= epoch:
                taken.pop(index, None)
        for index, network in taken.items():
            network.id = f"{self.group.runs[index].run_id}.epoch{epoch}"
        return taken

    def _take_out(self, stacked: Mapping[str, Tensor]) -> dict[int, Network]:
        """The networks of a stack by their indices, without those whose weights are not finite."""
        with one_thread():  # thousands of small copies, for which several threads would only wait
            by_tensor = [
                torch.isfinite(value).reshape(len(value), -1).all(dim=1)
                for value in stacked.values()
            ]
            is_finite = torch.stack(by_tensor).all(dim=0).tolist()
            return {
                index: take_out(stacked, index, run)
                for index, run in enumerate(self.group.runs)
                if is_finite[index]
            }

    def _result(
        self,
        index: int,
        diverged_at: int,
        network: Network | None,
        snapshots: dict[int, Network],
    ) -> TrainedRun:
        group = self.group
        return TrainedRun(
            run=group.runs[index],
            network=network,
            engine=group.engine,
            device=str(group.device),
            precision=group.precision,
            epochs=self.epoch if diverged_at < 0 else diverged_at,
            history=self.recorder.history(index),
            snapshots=snapshots,
            diverged_at=None if diverged_at < 0 else diverged_at,
            seconds=self.seconds / len(group.runs),
        )
