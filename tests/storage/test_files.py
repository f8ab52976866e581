import fcntl
import os
import stat
from pathlib import Path

import pytest

from algophase.core.errors import InputError
from algophase.storage import load
from algophase.storage.files import read_bytes, read_json, remove_partials, write_atomically
from algophase.storage.runs_table import OpenTable, read_runs


def test_the_directory_is_flushed_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename that is only in memory is lost with the power; the file was flushed before it."""
    steps: list[str] = []
    flush, rename = os.fsync, os.replace

    def flushed(handle: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        flush(handle)

    def renamed(*names: str) -> None:
        steps.append("rename")
        rename(*names)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    write_atomically(tmp_path / "deep" / "file.json", b"one ", memoryview(b"two"))
    assert steps == ["file", "rename", "directory"]
    assert (tmp_path / "deep" / "file.json").read_bytes() == b"one two"


def test_what_is_being_written_is_not_taken_for_a_killed_writers(tmp_path: Path) -> None:
    killed, alive = (tmp_path / f".{name}.json.abcd_123.partial" for name in ("killed", "alive"))
    link, other = tmp_path / ".link.json.abcd_123.partial", tmp_path / ".notes.partial"
    for path in (killed, alive, other):
        path.write_text("")
    link.symlink_to(other)
    with alive.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_partials(tmp_path)
    assert set(tmp_path.iterdir()) == {alive, link, other}
    remove_partials(tmp_path)
    remove_partials(tmp_path / "gone")
    assert set(tmp_path.iterdir()) == {link, other}


def test_a_writer_is_locked_and_starts_anew_if_its_file_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, taken = fcntl.flock, list[Path]()

    def late(handle: int, how: int) -> None:
        if not taken:
            taken.extend(tmp_path.iterdir())
            taken[0].unlink()  # as `remove_partials` does, just before it is locked
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    write_atomically(tmp_path / "file.json", b"whole")
    assert len(taken) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]
    assert (tmp_path / "file.json").read_bytes() == b"whole"


def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "runs-000000-1-00000000.parquet"
    os.mkfifo(pipe)
    for read in (read_bytes, read_runs, OpenTable, lambda path: read_runs(path.parent)):
        with pytest.raises(InputError, match="it is not a regular file"):
            read(pipe)
    os.mkfifo(tmp_path / "network.safetensors")
    with pytest.raises(InputError, match="it is not a regular file"):
        load(tmp_path / "network.safetensors")
    with pytest.raises(InputError, match="it is not a regular file"):
        read_bytes(Path("/dev/zero"))


def test_a_directory_in_place_of_a_file_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").mkdir()
    with pytest.raises(InputError, match=r"cannot read .*sweep.json: Is a directory"):
        read_json(tmp_path / "sweep.json", "the sweep")


def test_a_file_beyond_the_stated_size_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "holes.parquet").open("wb") as file:
        file.truncate(5 << 30)  # a sparse file takes no place
    with pytest.raises(
        InputError, match=r"has 5,368,709,120 bytes; at most 1,073,741,824 are read"
    ):
        read_runs(tmp_path / "holes.parquet")
