"""What a sweep does with some of its runs: train them together, and give them to a backlog that
analyzes each on the same device and makes their rows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress, ignore
from algophase.core.settings import RunSettings
from algophase.sweeps.backlog import Backlog, Finished
from algophase.sweeps.options import Options
from algophase.training.run.checkpoint import Checkpointer
from algophase.training.run.loop import Watch
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.train import continued, train_groups


def train_into(
    backlog: Backlog,
    groups: Sequence[PlannedEnsemble],
    options: Options,
    checkpoint: Checkpointer | None = None,
    progress: Callable[[Progress], None] | None = None,
    trained: Callable[[Sequence[RunSettings]], None] = ignore,
    *,
    check_gradients: bool = False,
) -> None:
    """Train these ensembles as planned, one after the other. Their networks are analyzed by the
    backlog, which may have some of them left at the end.

    Checkpoints stay: whoever records an ensemble removes its own. trained: called with the runs of
    each ensemble when it is trained. Gradients are checked here only if asked: a sweep checks them
    once.
    """
    longest = max((run.training.epochs for group in groups for run in group.runs), default=0)
    snapshots = tuple(epoch for epoch in options.snapshot_epochs if epoch <= longest)
    watch = Watch(options.history_stride, snapshots, options.early_stop)
    if checkpoint is not None:
        groups = continued(groups, checkpoint, watch)
    training = train_groups(
        groups,
        watch,
        checkpoint,
        progress,
        meanwhile=backlog.beside,
        check_gradients=check_gradients,
        keep_checkpoints=True,
    )
    try:
        with closing(training) as ensembles:
            for group, outcomes in ensembles:
                trained(group.runs)
                backlog.take(group, outcomes)
    except Stopped:
        backlog.drop_training()
        raise


def finish(
    space: str,
    groups: Sequence[PlannedEnsemble],
    indices: Mapping[RunSettings, int],
    options: Options,
    progress: Callable[[Progress], None] | None = None,
    *,
    check_gradients: bool = False,
) -> list[Finished]:
    """Train these ensembles and analyze their networks. indices: place of each run in its space."""
    finished: list[Finished] = []
    backlog = Backlog(space, indices, options, lambda _group, done: finished.append(done))
    train_into(backlog, groups, options, progress=progress, check_gradients=check_gradients)
    backlog.work_off()
    return finished
