"""Sweeps, training and merging that are killed, interrupted, starved of disk or robbed of their
directory, and then finished.

Each must end in the same table, the same networks and no stray file.
"""

import errno
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import kill_sweep
from pretend_gpu import busy_gpu
from trial import INTERRUPTED, REFUSED, Ended, at_operation, die, in_child

from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.given_runs import train_into
from algophase.sweeps.merge import merge
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Request, sweep_here

SPACE = Space.from_dict(
    {
        "name": "tiny",
        "task": {"modulus": 5},
        "network": {
            "width": {"log_uniform": [8, 16], "integer": True},
            "attention_rate": {"uniform": [0, 1]},
        },
        "training": {"epochs": 40},
    }
)
# Ensembles of two and a checkpoint after every chunk of epochs, so that there is much to interrupt.
OPTIONS = Options(device="cpu", ensemble_size=2, checkpoint_seconds=1e-6, snapshot_epochs=(15,))
RUNS = [
    RunSettings(
        TaskSettings(5),
        TransformerSettings(8, attention_rate=seed / 4),
        TrainingSettings(epochs=40),
        seed,
    )
    for seed in range(4)
]
TRAINING = Options(
    device="cpu", ensemble_size=4, history_stride=20, snapshot_epochs=(10,), histories=True
)


def run_sweep(out: Path, **request: Any) -> None:
    asked = Request(SPACE, 4, options=OPTIONS, keep_weights=1, **request)
    outcome = sweep_here(asked, SweepDirectory(out))
    if outcome.ended == "interrupted":
        raise KeyboardInterrupt


def run_sweep_beside(out: Path) -> None:
    """As on a GPU, whose next ensemble trains while networks are analyzed."""
    with busy_gpu():
        run_sweep(out)


def run_training(out: Path) -> None:
    if train_into(out, RUNS, TRAINING).ended == "interrupted":
        raise KeyboardInterrupt


class Prey:
    """What is killed: how it is run, with what it must be equal in the end, and how many file
    operations it takes.
    """

    def __init__(
        self,
        scratch: Path,
        name: str,
        run: Callable[[Path], object],
        difference: Callable[[Path, Path], str | None],
        prepare: Callable[[Path], object] | None = None,
    ) -> None:
        self.run, self.difference, self.prepare = run, difference, prepare
        self.reference = scratch / f"{name}-undisturbed"
        if prepare is not None:
            prepare(self.reference)
        counting = scratch / f"{name}-counted"

        def counted() -> None:
            count = at_operation(self.reference, 0, die)
            run(self.reference)
            counting.write_text(str(count[0]))

        begun = time.monotonic()
        ended = in_child(counted)
        assert ended.code == 0, ended.said
        self.seconds, self.operations = time.monotonic() - begun, int(counting.read_text())

    def attack(
        self, out: Path, disturb: Callable[[], Ended], allowed: tuple[int, ...]
    ) -> str | None:
        """Disturb a run into `out`, finish it, and compare."""
        shutil.rmtree(out, ignore_errors=True)
        if self.prepare is not None:
            self.prepare(out)
        ended = disturb()
        if ended.problem or ended.code not in (0, *allowed):
            return ended.problem or f"it ended with {ended.code}: {ended.said[-500:]}"
        return self.finish(out)

    def finish(self, out: Path) -> str | None:
        ended = in_child(lambda: self.run(out))
        if ended.code != 0:
            return f"it could not be finished ({ended.code}): {ended.said[-1000:]}"
        return self.difference(self.reference, out)

    def killed_at_a_time(self, out: Path, draw: random.Random) -> str | None:
        moment = draw.uniform(0, self.seconds)
        return self.attack(out, lambda: in_child(lambda: self.run(out), kill_after=moment), (-9,))

    def killed_at_an_operation(self, out: Path, number: int) -> str | None:
        """number: of the operation, from 1; every one comes in turn."""

        def work() -> None:
            at_operation(out, 1 + number % self.operations, die)
            self.run(out)

        return self.attack(out, lambda: in_child(work), (-9,))

    def interrupted(self, out: Path, draw: random.Random) -> str | None:
        moment = draw.uniform(0, self.seconds)
        return self.attack(
            out, lambda: in_child(lambda: self.run(out), interrupt_after=moment), (INTERRUPTED,)
        )

    def full_disk(self, out: Path, number: int) -> str | None:
        """A flush finds no room, each in turn. That is said in one line. About every second
        operation is followed by one.
        """

        def work() -> None:
            flush, count = os.fsync, 0

            def full(handle: int) -> None:
                nonlocal count
                count += 1
                if count == 1 + number % (self.operations // 2):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                flush(handle)

            with patch.object(os, "fsync", full):
                self.run(out)

        return self.attack(out, lambda: in_child(work), (REFUSED,))

    def robbed(self, out: Path, number: int) -> str | None:
        """The directory is renamed at the n-th operation: noticed, not made again, and finished
        where it is now.
        """
        moved = out.with_name(f"{out.name}-moved")
        for place in (out, moved):
            shutil.rmtree(place, ignore_errors=True)

        def work() -> None:
            at_operation(out, 3 + number % (self.operations - 2), lambda: os.rename(out, moved))
            self.run(out)

        ended = in_child(work)
        if ended.problem or ended.code not in (0, REFUSED):
            return ended.problem or f"it ended with {ended.code}: {ended.said[-500:]}"
        if moved.exists() and out.exists():
            return f"{out.name} was made again, with {sorted(path.name for path in out.iterdir())}"
        return self.finish(moved if moved.exists() else out)


def clock_jumps(prey: Prey, out: Path, draw: random.Random) -> str | None:
    """The time of day jumps by years between any two looks at it."""

    def work() -> None:
        now = time.time
        with patch.object(time, "time", lambda: now() + draw.uniform(-3e8, 3e8)):
            prey.run(out)

    return prey.attack(out, lambda: in_child(work), ())


def writers_at_once(prey: Prey, out: Path, draw: random.Random) -> str | None:
    """Several of the same command on one directory: one writes, the others are told so."""
    shutil.rmtree(out, ignore_errors=True)
    results = out.with_name("results")
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    writers = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            time.sleep(draw.uniform(0, 0.2) * number)
            ended = in_child(lambda: prey.run(out))
            fine = ended.code == 0 or (ended.code == REFUSED and "is in use by" in ended.said)
            (results / f"{number}").write_text(
                "" if fine and not ended.problem else f"{ended.code}: {ended.said[-500:]}"
            )
            os._exit(0)
        writers.append(pid)
    for pid in writers:
        os.waitpid(pid, 0)
    said = [path.read_text() for path in results.iterdir()]
    if len(said) != len(writers) or any(said):
        return f"a writer failed: {said}"
    return prey.finish(out)


def prey_of(scratch: Path) -> dict[str, Prey]:
    """What the campaign kills: a sweep, one as on a GPU, training into a directory, a merge."""
    halves = [scratch / "half-1", scratch / "half-2"]
    for number, half in enumerate(halves, 1):
        ended = in_child(lambda half=half, number=number: run_sweep(half, part=(number, 2)))  # type: ignore[misc]
        assert ended.code == 0, ended.said
    return {
        "sweep": Prey(scratch, "sweep", run_sweep, kill_sweep.difference),
        "sweep beside": Prey(scratch, "sweep-beside", run_sweep_beside, kill_sweep.difference),
        "train": Prey(scratch, "train", run_training, kill_sweep.difference),
        "merge": Prey(
            scratch,
            "merge",
            lambda out: merge([halves[1]], out),
            kill_sweep.difference,
            lambda out: shutil.copytree(halves[0], out),
        ),
    }
