"""How a sweep trains and looks at its runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings
from algophase.training.run.loop import EarlyStop, Watch
from algophase.training.run.plan import PlannedEnsemble, plan

# Networks of the fused engine, whose bits do not depend on an ensemble's size. On an H200 a run
# takes 0.227 s in an ensemble of 256 and 0.226 s in one of 512 (one layer, width 128, p = 59).
MOST_IN_A_PART = 256


@dataclass(frozen=True)
class Options:
    """How a sweep trains. None of these changes which runs there are.

    history_stride: epochs between two looks at a network while it trains; the table keeps the last.
    checkpoint_seconds: how often a running ensemble is saved, and so the most that a killed sweep
        loses of it; an ensemble that waits for its analysis goes back to its last checkpoint too.
    snapshot_epochs: where along training each network is analyzed too, for the table of moments.
    hidden: whether the hidden layers of the trained networks are looked at too; a request takes it
        from its space.
    strict_device: a device that is missing is an error; otherwise the CPU takes over and a warning
        is logged.
    early_stop: when an ensemble ends before its last epoch; a sweep has no such rule.
    histories: whether rows have the whole histories, in columns `history.*`, and the rule for an
        early stop.
    timing: whether rows say when a network memorized and when it generalized; a request takes it
        from its space.
    analysis: whether the networks are analyzed.
    check_again: whether gradients are checked that were right in an earlier command.
    analyze_beside: whether a GPU may train the next networks while trained ones are analyzed.
    """

    engine: str = "auto"
    device: str = "auto"
    precision: str | None = None
    ensemble_size: int | None = None
    history_stride: int = 1000
    checkpoint_seconds: float = 300.0
    snapshot_epochs: tuple[int, ...] = ()
    hidden: bool = False
    strict_device: bool = False
    early_stop: EarlyStop | None = None
    histories: bool = False
    timing: bool = False
    analysis: bool = True
    check_again: bool = False
    analyze_beside: bool = True

    def __post_init__(self) -> None:
        epochs = Watch(snapshot_epochs=self.snapshot_epochs).snapshot_epochs  # in order
        object.__setattr__(self, "snapshot_epochs", epochs)
        if not self.checkpoint_seconds > 0:
            raise InputError(
                f"checkpoint_seconds is {self.checkpoint_seconds!r}; it must be above 0"
            )

    def plan(self, runs: Sequence[RunSettings]) -> list[PlannedEnsemble]:
        """The ensembles of these runs on this machine."""
        size = self.ensemble_size
        groups = plan(
            runs, self.engine, self.device, self.precision, size, strict_device=self.strict_device
        )
        if size is not None or not self.analyze_beside:
            return groups
        return [part for group in groups for part in in_parts(group)]


def in_parts(group: PlannedEnsemble) -> list[PlannedEnsemble]:
    """An ensemble in equal parts of at most `MOST_IN_A_PART` networks, where that changes no bit:
    the networks of one part are analyzed while the next part trains.
    """
    if group.device.type != "cuda" or group.engine != "fused":
        return [group]
    count = len(group.runs)
    parts = math.ceil(count / MOST_IN_A_PART)
    bounds = [number * count // parts for number in range(parts + 1)]
    return [group.only(range(start, stop)) for start, stop in pairwise(bounds)]
