"""Work in the background: one queue for each kind of it, with an end, and one thread while there
is any.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch

from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped

MOST_WAITING = 16  # jobs of a kind; a further one is refused
MOST_REMEMBERED = 200  # jobs, of which those that ended are forgotten first
Kind = Literal["training", "analyzing"]


@dataclass
class Job:
    """Work on a run's network. status: its progress in words."""

    run_id: str
    kind: Kind
    status: str = "waiting"
    epoch: int = 0
    epochs: int = 0
    state: Literal["active", "done", "failed", "stopped"] = "active"
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def active(self) -> bool:
        return self.state == "active"


class Jobs:
    """Jobs by run id, at most one of a run at a time. version: grows with every job that ends."""

    def __init__(self) -> None:
        self.version = 0
        # For work in the background; the page's own answers take one.
        self.threads = torch.get_num_threads()
        self._jobs: dict[str, Job] = {}
        self._waiting: dict[Kind, deque[tuple[Job, Callable[[Job], None]]]] = {
            kind: deque() for kind in get_args(Kind)
        }
        self._workers: dict[Kind, threading.Thread] = {}  # one for each kind that has work
        self._lock = threading.Lock()

    def get(self, run_id: str) -> Job | None:
        return self._jobs.get(run_id)

    @property
    def busy(self) -> bool:
        return any(job.active for job in list(self._jobs.values()))

    def start(self, job: Job, work: Callable[[Job], None]) -> Job:
        """The job, or the one that is under way for its run. An InputError where too many wait."""
        with self._lock:
            last = self._jobs.get(job.run_id)
            if last is not None and last.active:
                return last
            queue = self._waiting[job.kind]
            if len(queue) >= MOST_WAITING:
                count = f"{len(queue)} networks wait for {job.kind} already"
                raise InputError(f"{count}: try again when they are done")
            self._forget_some()
            self._jobs[job.run_id] = job
            queue.append((job, work))
            if job.kind not in self._workers:
                worker = threading.Thread(target=self._work_off, args=(job.kind,), daemon=True)
                self._workers[job.kind] = worker
                worker.start()
        return job

    def _forget_some(self) -> None:
        """Of the jobs that ended, the earliest, where there are too many jobs."""
        ended = [run_id for run_id, job in self._jobs.items() if not job.active]
        too_many = max(0, len(self._jobs) - MOST_REMEMBERED)
        for run_id in ended[:too_many]:
            del self._jobs[run_id]

    def stop(self, run_id: str) -> None:
        """Now if it waits, or when its work next looks."""
        job = self._jobs.get(run_id)
        if job is None:
            return
        job.stop.set()
        with self._lock:
            queue = self._waiting[job.kind]
            waiting = [item for item in queue if item[0] is job]
            for item in waiting:
                queue.remove(item)
        if waiting:
            self._end(job, "stopped", _stopped(job))

    def close(self, seconds: float) -> None:
        for run_id in list(self._jobs):
            self.stop(run_id)
        for thread in list(self._workers.values()):
            thread.join(seconds)

    def _work_off(self, kind: Kind) -> None:
        """One job after the other, until none waits."""
        torch.set_num_threads(self.threads)
        while True:
            with self._lock:
                if not self._waiting[kind]:
                    del self._workers[kind]  # who asks next starts another
                    return
                job, work = self._waiting[kind].popleft()
            try:
                if job.stop.is_set():
                    raise Stopped("on request")
                work(job)
                self._end(job, "done", "done")
            except Stopped:
                self._end(job, "stopped", _stopped(job))
            except InputError as error:
                self._end(job, "failed", str(error))
            except Exception as error:  # a thread's error would otherwise be seen by no one
                self._end(job, "failed", f"{job.kind} failed: {type(error).__name__}: {error}")

    def _end(self, job: Job, state: Literal["done", "failed", "stopped"], status: str) -> None:
        job.state, job.status = state, status
        with self._lock:
            self.version += 1


def _stopped(job: Job) -> str:
    return f"{job.kind} was stopped; nothing was saved"
