"""A few threads that share out the pieces of an epoch on a CPU, each computing with one PyTorch
thread.

OpenMP gives every thread an equal share and waits for the slowest, many times an epoch. Beside
another program the slowest is the one that shares its core. Here whoever is free takes the next
piece. A piece that is overdue, because the system put
its thread aside, is not waited for: the caller computes it again. Which pieces there are never
depends on the threads, and their results are put together in a fixed order, so the bits are the
same for any number of threads and any load.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch

# Times the longest piece of the caller's own: from then on another thread's piece is computed again
OVERDUE = 1.5

T = TypeVar("T")


class Crew:
    """The calling thread and up to `limit - 1` helpers; `count` of them work, which may be changed
    between two calls.

    Helpers are shared by all crews of a process. Where another thread uses them already, the caller
    works alone.
    """

    def __init__(self, limit: int) -> None:
        self.limit = self.count = limit

    def run(self, pieces: Sequence[Callable[[], T]], *, twice: bool = False) -> list[T]:
        """What the pieces return, in their order. An exception in one is raised here.

        twice: whether a piece may be computed twice, also at the same time. It must not write to
            what others read.
        """
        helpers = min(self.count, len(pieces)) - 1
        if helpers < 1 or not _helpers.taken.acquire(blocking=False):
            return [piece() for piece in pieces]
        try:
            batch = _Batch(pieces, twice)
            for helper in _helpers.first(helpers):
                helper.help(batch)
            return batch.lead()
        finally:
            _helpers.taken.release()


class _Batch(Generic[T]):
    """Pieces handed out together."""

    def __init__(self, pieces: Sequence[Callable[[], T]], twice: bool) -> None:
        self.pieces, self.twice = pieces, twice
        # A step of it is one operation of the interpreter: none is handed out twice
        self.indices = iter(range(len(pieces)))
        self.results: dict[int, T] = {}
        self.started: dict[int, float] = {}
        self.errors: list[BaseException] = []
        self.noting = threading.Lock()
        self.complete = threading.Lock()
        self.complete.acquire()  # released once, by the last piece or the first error
        self.inference = torch.is_inference_mode_enabled()

    def lead(self) -> list[T]:
        """The caller's part: work, then see to what is left."""
        try:
            longest = self.work()
            self._await(longest)
        except BaseException:
            self.indices = iter(())
            raise
        if self.errors:
            raise self.errors[0]
        return [self.results[index] for index in range(len(self.pieces))]

    def work(self) -> float:
        """Compute pieces until none is left to take; how long the longest took, in seconds."""
        longest = 0.0
        while (index := next(self.indices, None)) is not None and not self.errors:
            self.started[index] = started = time.perf_counter()
            self._compute(index)
            longest = max(longest, time.perf_counter() - started)
        return longest

    def _compute(self, index: int) -> None:
        result = self.pieces[index]()
        with self.noting:
            if index not in self.results:
                self.results[index] = result
                if len(self.results) == len(self.pieces) and not self.errors:
                    self.complete.release()

    def fail(self, error: BaseException) -> None:
        with self.noting:
            if not self.errors and len(self.results) < len(self.pieces):
                self.complete.release()
            self.errors.append(error)

    def _await(self, longest: float) -> None:
        """Until every piece is computed. The bits of a piece are the same whoever computes it."""
        while len(self.results) < len(self.pieces) and not self.errors:
            under_way = self.started.keys() - self.results.keys()
            late = min(under_way, key=self.started.__getitem__, default=None)
            if not self.twice or longest == 0 or late is None:
                self.complete.acquire()
                return
            patience = self.started[late] + OVERDUE * longest - time.perf_counter()
            if patience <= 0:
                self._compute(late)
            elif self.complete.acquire(timeout=patience):
                return


class _Helper(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="algophase-helper", daemon=True)
        self.bell = threading.Lock()  # locked: nothing to do
        self.bell.acquire()
        self.batch: _Batch[Any] | None = None
        self.prepared = threading.Event()
        self.start()
        self.prepared.wait()

    def help(self, batch: _Batch[Any]) -> None:
        self.batch = batch
        if self.bell.locked():
            self.bell.release()

    def run(self) -> None:
        # PyTorch sets up a thread when it is first asked, and would overwrite what was set before
        torch.get_num_threads()
        torch.set_num_threads(1)
        self.prepared.set()
        while True:
            self.bell.acquire()
            batch, self.batch = self.batch, None
            if batch is not None:
                try:
                    with torch.inference_mode(batch.inference), torch.no_grad():
                        batch.work()
                except BaseException as error:
                    batch.fail(error)
                del batch  # what it holds is not ours to keep until the next


class _Helpers:
    """All helpers of this process; a forked one starts with none."""

    def __init__(self) -> None:
        self.taken = threading.Lock()
        self.threads: list[_Helper] = []

    def first(self, count: int) -> list[_Helper]:
        while len(self.threads) < count:
            self.threads.append(_Helper())
            torch.set_num_threads(
                torch.get_num_threads()
            )  # so that the next new thread of the program does as we do
        return self.threads[:count]


_helpers = _Helpers()
os.register_at_fork(after_in_child=_helpers.__init__)  # type: ignore[misc]


TRIAL_EPOCHS = 12
SECONDS_BETWEEN = 8.0  # trials of a crew that is as fast as it was
FEWEST_SECONDS = 1.0  # between trials of one that has become slower
# Times the seconds per epoch: what makes a trial succeed, and what calls for one
FASTER = 0.93
SLOWER = 1.25


class Pace:
    """How many threads of a crew train: measured while training, not counted by cores.

    Now and then a few epochs are trained with fewer threads, or with more, and the number that is
    faster stays. So a crew shrinks while other programs take its cores, and grows again when they
    are gone. The number changes no bit of the result.
    """

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.settled: int | None = None  # during a trial: the number of threads before it
        self.usual = self.before_trial = 0.0  # seconds per epoch
        self.waited, self.fewer_next = 0.0, True

    def epochs(self, count: int) -> int:
        """How many epochs to train before `note` is called."""
        return count if self.settled is None else min(count, TRIAL_EPOCHS)

    def note(self, seconds: float, epochs: int) -> None:
        """Tell how long some epochs took; the crew's number may change."""
        per_epoch = seconds / epochs
        if self.settled is not None:
            if per_epoch > FASTER * self.before_trial:
                self.fewer_next = self.crew.count > self.settled  # the other way next time
                self.crew.count, self.waited = self.settled, 0.0
            else:
                self.fewer_next = self.crew.count < self.settled
                self.waited = SECONDS_BETWEEN  # and perhaps further that way, at once
            self.settled, self.usual = None, 0.0
            return
        self.waited += seconds
        self.usual = min(self.usual or per_epoch, per_epoch)
        due = self.waited > SECONDS_BETWEEN or (
            self.waited > FEWEST_SECONDS and per_epoch > SLOWER * self.usual
        )
        if due and self.crew.limit > 1:
            self.settled, self.before_trial = self.crew.count, per_epoch
            self.crew.count = self._other()

    def _other(self) -> int:
        """About half as many again, or two thirds."""
        count, limit = self.crew.count, self.crew.limit
        fewer = count > 1 and (self.fewer_next or count == limit)
        return count - max(1, count // 3) if fewer else min(limit, count + max(1, count // 2))
