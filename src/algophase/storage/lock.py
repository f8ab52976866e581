"""One writer a directory. The lock dies with its process, so a killed sweep never has to be
unlocked by hand.
"""

import fcntl
import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from algophase.core.errors import InputError

NAME = ".lock"


@contextmanager
def locked(directory: Path, doing: str) -> Iterator[Callable[[], bool]]:
    """Hold a directory. Someone else who tries is told by whom: process, machine, since when, and
    what it is doing.

    Gives a function that says whether the directory is still held: not if it was removed or renamed
    meanwhile.
    """
    handle = _acquire(directory / NAME, directory)
    folder = os.open(
        directory, os.O_RDONLY | os.O_DIRECTORY
    )  # the same directory, wherever it is moved to
    try:
        holder = {
            "process": os.getpid(),
            "machine": platform.node(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "doing": doing,
        }
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(holder).encode(), 0)
        except OSError:  # a full disk: the lock holds all the same, it only has no name
            pass
        yield lambda: _is(handle, directory / NAME)
    finally:
        # Removed while it is still held: who waits for the old file finds out below that it is
        # gone. Another's lock stays.
        with suppress(OSError):
            if _is(handle, NAME, folder):
                os.unlink(NAME, dir_fd=folder)
        os.close(folder)
        os.close(handle)


def _is(handle: int, path: str | Path, folder: int | None = None) -> bool:
    """Whether a path leads to this open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, dir_fd=folder))
    except OSError:
        return False


def _acquire(path: Path, directory: Path) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"cannot write into {directory}: {error.strerror or error}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not isinstance(error, BlockingIOError):  # a file system without locks
                os.close(handle)
                raise InputError(f"cannot lock {directory}: {error.strerror or error}") from None
            holder = os.pread(handle, 4096, 0)
            os.close(handle)
            raise InputError(
                f"{directory} is in use by {_describe(holder)}; wait for it, or choose another "
                "directory"
            ) from None
        if _is(handle, path):
            return handle
        os.close(
            handle
        )  # its holder removed it between our opening and locking it: try again on a new one


def _describe(content: bytes) -> str:
    try:
        holder = json.loads(content)
        return (
            f"process {holder['process']} on {holder['machine']} since {holder['since']} "
            f"({holder['doing']})"
        )
    except (ValueError, KeyError, TypeError):
        return "another process"
