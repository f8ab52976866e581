"""Processes that analyze files side by side, each on one CPU thread; or one, on a GPU.

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
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import IO, Any

import torch

from algophase.analysis.analyze import analyze_each
from algophase.core.errors import InputError
from algophase.core.threads import side_by_side
from algophase.networks import Network
from algophase.surveys.network_row import (
    DIED,
    Answer,
    Loaded,
    Problem,
    answer,
    answer_of_analysis,
    loaded_or_answer,
    problem_of,
)
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

    def ask(self, question: Question) -> Answer:
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
        answered: Answer = result
        return answered

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self._process.kill()
        with contextlib.suppress(OSError, ValueError):
            self._process.communicate()


def answers(questions: Sequence[Question], workers: int) -> Iterator[tuple[Question, Answer]]:
    """Each file with its row, or with why there is none, as they are finished. workers: processes;
    1 is this one.
    """
    count = min(workers, len(questions))
    if count <= 1:
        for question in questions:
            yield question, answer(question)
        return
    idle = queue.Queue[_Worker]()
    started = list[_Worker]()
    is_closed = False

    def start() -> _Worker:
        worker = _Worker()
        started.append(worker)
        return worker

    def ask(question: Question) -> Answer:
        worker = idle.get()
        try:
            return worker.ask(question)
        finally:
            if worker.is_alive:
                idle.put(worker)
            elif not is_closed:
                idle.put(start())

    for _ in range(count):
        idle.put(start())
    pool = ThreadPoolExecutor(count)
    # All at once: the largest networks take a minute, and must not hold up the others
    asked = {pool.submit(ask, question): question for question in questions}
    try:
        for done in as_completed(asked):
            yield asked[done], done.result()
    finally:
        is_closed = True
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in started:
            worker.stop()


def answers_on_gpu(
    questions: Sequence[Question], workers: int
) -> Iterator[tuple[Question, Answer]]:
    """`answers` by one process that keeps several networks under way on a GPU, as a sweep does.

    workers: threads that read files meanwhile.
    """
    open_questions = list(questions)
    try:
        for question, result in _overlapped(questions, workers):
            open_questions.remove(question)
            yield question, result
    except Exception:  # a network that cannot be computed: it is found one at a time
        for question in open_questions:
            yield question, answer(question)


def _overlapped(questions: Sequence[Question], workers: int) -> Iterator[tuple[Question, Answer]]:
    under_way = deque[tuple[Question, Loaded]]()
    answered = deque[tuple[Question, Answer]]()

    def networks() -> Iterator[Network]:
        readings = side_by_side(loaded_or_answer, questions, workers)
        for question, loaded in zip(questions, readings, strict=True):
            if isinstance(loaded, Loaded):
                under_way.append((question, loaded))
                yield loaded.network
            else:
                answered.append((question, loaded))

    first = questions[0]
    for analysis in analyze_each(networks(), first.thresholds, first.device):
        question, loaded = under_way.popleft()
        if isinstance(analysis, InputError):
            yield question, problem_of(question, analysis)
        else:
            yield question, answer_of_analysis(question, loaded, analysis)
        while answered:
            yield answered.popleft()
    yield from answered
