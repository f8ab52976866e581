import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import PATIENCE

from algophase.core.errors import InputError
from algophase.storage._lock import NAME, locked

HOLD = """
import sys
from pathlib import Path
from algophase.storage._lock import locked
with locked(Path(sys.argv[1]), "a long sweep"):
    print("held", flush=True)
    sys.stdin.read()
"""

# Four processes take the lock again and again, and each makes a directory meanwhile: that fails
# where there is one, so two holders at once are noticed.
RACE = """
import os, sys
from pathlib import Path
from algophase.core.errors import InputError
from algophase.storage._lock import locked

def race(directory):
    held = 0
    while held < 40:
        try:
            with locked(directory, "a race"):
                os.mkdir(directory / "mark")
                held += 1
                os.rmdir(directory / "mark")
        except InputError as error:
            assert "in use by" in str(error), error

children = []
for _ in range(4):
    child = os.fork()
    if not child:
        race(Path(sys.argv[1]))
        os._exit(0)
    children.append(child)
sys.exit(max(os.waitpid(child, 0)[1] for child in children) > 0)
"""


def start(code: str, directory: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_lock_is_gone_afterwards_even_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path, "a test"):
        raise ZeroDivisionError((tmp_path / NAME).exists())
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path, "again"):
        pass


def test_a_second_holder_is_told_who_the_first_is_and_a_killed_one_is_free(tmp_path: Path) -> None:
    holder = start(HOLD, tmp_path)
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stderr is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(
                InputError,
                match=rf"process {holder.pid} on .+ since 20.+ \(a long sweep\)",
            ),
            locked(tmp_path, "another"),
        ):
            raise AssertionError("both hold it")
    finally:
        holder.kill()
        holder.wait()
        for pipe in (holder.stdin, holder.stdout, holder.stderr):
            pipe.close()
    assert (tmp_path / NAME).exists()  # it had no time to tidy up
    with locked(tmp_path, "the next"):
        assert b"the next" in (tmp_path / NAME).read_bytes()
    assert not (tmp_path / NAME).exists()


def test_the_same_process_cannot_hold_it_twice(tmp_path: Path) -> None:
    message = rf"in use by process {os.getpid()} .*outer"
    with (
        locked(tmp_path, "outer"),
        pytest.raises(InputError, match=message),
        locked(tmp_path, "inner"),
    ):
        pass


def test_racing_processes_never_both_hold(tmp_path: Path) -> None:
    racers = start(RACE, tmp_path)
    _, errors = racers.communicate(timeout=PATIENCE)
    assert racers.returncode == 0, errors
    assert list(tmp_path.iterdir()) == []


def test_a_holder_that_says_nothing_readable_is_another_process(tmp_path: Path) -> None:
    with locked(tmp_path, "a test"):
        (tmp_path / NAME).write_text("scribble")
        with (
            pytest.raises(InputError, match="is in use by another process"),
            locked(tmp_path, "another"),
        ):
            pass


def test_a_directory_that_cannot_be_locked_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(InputError, match=r"cannot write into .*gone: No such file"),
        locked(tmp_path / "gone", "a test"),
    ):
        pass

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(InputError, match=r"cannot write into .*: No locks available"),
        locked(tmp_path, "a test"),
    ):
        pass
