"""The process that checks gradients, started ahead: until it can begin it takes seconds, most of
them to import PyTorch.

It needs no PyTorch here, so that a command can start it before it imports its own. It waits for its
standard input, and ends when that is closed.
"""

import atexit
import os
import signal
import subprocess
import sys
from pathlib import Path

GPUS = ("/dev/nvidiactl", "/dev/dxg")  # the second is WSL's
FORKS = hasattr(os, "fork")

_ready: list[subprocess.Popen[str]] = []


def start_early() -> None:
    """Where the machine seems to have a GPU. Started in vain, it is ended by the check, or with
    this process.
    """
    if FORKS and not _ready and any(Path(gpu).exists() for gpu in GPUS):
        _ready.append(_start())


def take() -> subprocess.Popen[str]:
    """The process that was started, or a new one."""
    return _ready.pop() if _ready else _start()


@atexit.register
def dismiss() -> None:
    """End the process that nobody took."""
    while _ready:
        end(_ready.pop())


def end(checker: subprocess.Popen[str]) -> None:
    """End a process, with those it has started."""
    with checker:  # closes its pipes, and waits
        if checker.poll() is None:
            os.killpg(checker.pid, signal.SIGKILL)


def _start() -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "algophase.training.check.check_planned"],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a group of its own: ended as a whole, and no Ctrl-C reaches it
    )
