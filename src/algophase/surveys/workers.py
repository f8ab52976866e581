"""Processes that analyze files side by side, each on one CPU thread.

They are started as `python -c`, not by `multiprocessing`, which would run the caller's script again
in each. A file that kills its worker is a problem of that file: another worker takes the next one.
"""

import contextlib
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any

import torch

from algophase.core.threads import side_by_side
from algophase.surveys.network_row import DIED, Problem, answer
from algophase.surveys.tree import Question

START = "from algophase.surveys.workers import serve; serve()"
LENGTH = struct.Struct("<Q")  # before each message: its bytes


def serve() -> None:
    """Be a worker: answer questions on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
    torch.set_num_threads(1)
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    while (question := _receive(questions)) is not None:
        _send(answers, answer(question))


def _send(pipe: IO[bytes], value: object) -> None:
    content = pickle.dumps(value)
    pipe.write(LENGTH.pack(len(content)) + content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    """None where the other side is gone."""
    start = pipe.read(LENGTH.size)
    if len(start) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(start)
    content = pipe.read(length)
    return pickle.loads(content) if len(content) == length else None


class _Worker:
    def __init__(self) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def ask(self, question: Question) -> dict[str, Any] | Problem:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _send(self._process.stdin, question)
            result = _receive(self._process.stdout)
        except OSError:
            result = None
        if result is None:
            code = self._process.wait()
            return Problem(f"{DIED} with {code}", is_network=True)
        answered: dict[str, Any] | Problem = result
        return answered

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self._process.kill()
        with contextlib.suppress(OSError, ValueError):
            self._process.communicate()


def answers(questions: Sequence[Question], workers: int) -> Iterator[dict[str, Any] | Problem]:
    """The row of each file, or why there is none, in order. workers: processes; 1 is this one."""
    count = min(workers, len(questions))
    if count <= 1:
        yield from map(answer, questions)
        return
    idle = queue.Queue[_Worker]()
    started = list[_Worker]()

    def start() -> _Worker:
        worker = _Worker()
        started.append(worker)
        return worker

    def ask(question: Question) -> dict[str, Any] | Problem:
        worker = idle.get()
        try:
            return worker.ask(question)
        finally:
            idle.put(worker if worker.is_alive else start())

    for _ in range(count):
        idle.put(start())
    try:
        yield from side_by_side(ask, questions, count)
    finally:
        for worker in started:
            worker.stop()
