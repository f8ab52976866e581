"""One trial of the campaign: work in a process of its own, which may be killed, interrupted,
starved of disk, or watched.
"""

import contextlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError

REFUSED, INTERRUPTED, BROKEN = 3, 130, 70  # exit codes: an InputError, Ctrl-C, any other exception
MOST_SECONDS, MOST_MEGABYTES = 10.0, 1500.0
WRITING = {
    "os.rename",
    "os.link",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "shutil.rmtree",
    "fcntl.flock",
}
RUNNING = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "os.fork",
    "pty.spawn",
    "socket.connect",
}


@dataclass(frozen=True)
class Ended:
    """How a trial's process ended. code: its exit code, or minus the signal that killed it;
    said: all it printed.
    """

    code: int
    said: str
    seconds: float
    megabytes: float
    hung: bool = False

    @property
    def problem(self) -> str | None:
        """What no trial may do: end in an exception of another kind, hang, or take too much
        memory.
        """
        if self.hung:
            return f"it hung for {self.seconds:.0f} s"
        if self.code == BROKEN or self.code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
            return f"it ended in a traceback or a crash ({self.code}):\n{self.said[-1500:]}"
        if self.megabytes > MOST_MEGABYTES:
            return f"it took {self.megabytes:.0f} MB"
        return None


def in_child(
    work: Callable[[], Any],
    *,
    kill_after: float | None = None,
    interrupt_after: float | None = None,
    patience: float = 60.0,
) -> Ended:
    """Do work in a fork of this process, which has everything imported. It must have no threads
    of its own.
    """
    sys.stdout.flush()
    with tempfile.TemporaryFile() as output:
        begun = time.monotonic()
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGINT}
        )  # until the child can answer it
        pid = os.fork()
        if pid == 0:
            try:
                _do(work, output.fileno())
            finally:
                os._exit(BROKEN)  # whatever happens, no second campaign goes on from here
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sent, hung = False, False
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                break
            passed = time.monotonic() - begun
            if kill_after is not None and passed >= kill_after:
                os.kill(pid, signal.SIGKILL)
            if interrupt_after is not None and passed >= interrupt_after and not sent:
                os.kill(pid, signal.SIGINT)
                sent = True
            if passed > patience:
                hung = True
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)
        output.seek(0)
        said = output.read().decode(errors="replace")
        return Ended(
            os.waitstatus_to_exitcode(status),
            said,
            time.monotonic() - begun,
            usage.ru_maxrss / 1024,
            hung,
        )


def _do(work: Callable[[], Any], output: int) -> None:
    """The child's whole life. Ctrl-C reaches it while it works, not while it is set up or says
    how it ended.
    """
    os.setsid()
    for handle in (1, 2):
        os.dup2(output, handle)
    sys.stdout, sys.stderr = (os.fdopen(handle, "w", closefd=False) for handle in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            work()
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    except InputError as error:
        print(f"refused: {error}")
        code = REFUSED
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        code = BROKEN
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def at_operation(place: Path, number: int, act: Callable[[], None]) -> list[int]:
    """In a child: act before the n-th operation that writes below a directory. The list counts
    them.
    """
    count, below = [0], str(place)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        opened = (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & (os.O_RDWR | os.O_WRONLY)
        )
        writes = opened or event in WRITING
        if writes and (event == "fcntl.flock" or str(arguments[0]).startswith(below)):
            count[0] += 1
            if count[0] == number:
                act()

    sys.addaudithook(hook)
    return count


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def nothing_may_run() -> None:
    """In a child: a program that is started, or a connection that is opened, ends it as broken."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in RUNNING:
            os.write(2, f"code was run: {event} {arguments!r}\n".encode())
            os._exit(BROKEN)

    sys.addaudithook(hook)
