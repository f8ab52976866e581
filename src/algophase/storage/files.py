"""Reading regular files; writing files and directories beside their place and renaming them into
it, so that a killed process leaves the old one or the new one.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from algophase.core.errors import InputError
from algophase.core.gallery import default_gallery
from algophase.core.settings import shown

LARGEST_FILE = (
    1 << 30
    # Bytes of a file that is read into memory: a table of a million runs, a network of 250 million
    # numbers
)
LARGEST_JSON = 1 << 24  # bytes: values take up to 24 times as much memory
# As `write_atomically` names them
_PARTIAL = re.compile(r"\..+\.(parquet|safetensors|json)\.[a-z0-9_]{8}\.partial")


def given_path(path: str | os.PathLike[str]) -> Path:
    """What a caller gave as a path, if it is one."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(
            f"the path is {shown(path)}; give the name of a file or directory"
        ) from None


def shipped(path: str | os.PathLike[str]) -> Path:
    """A path, or the shipped sweep of that name where there is nothing else of it:
    `fixed-width`.
    """
    path = given_path(path)
    gallery = default_gallery()
    if (
        gallery is None
        or len(path.parts) != 1
        or path.exists()
        or not (gallery / path / "sweep.json").exists()
    ):
        return path
    return gallery / path


def write_atomically(path: Path, *content: bytes | memoryview, inside: Path | None = None) -> None:
    """Write, flush to disk, rename over `path`, and flush the directory: a power cut, too, leaves
    the old file or the new one.

    content: in pieces. inside: a directory that is not made if it is missing; the file lies in it,
        or one folder below.
    On any error the temporary file is removed and `path` is untouched.
    """
    try:
        if path.parent != inside:
            path.parent.mkdir(parents=inside is None, exist_ok=True)
        handle, name = _open_partial(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as file:  # and locked, until it is renamed
            _write_out(file, content)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


def _write_out(file: BinaryIO, content: Iterable[bytes | memoryview]) -> None:
    """Write, down to the disk."""
    for piece in content:
        file.write(piece)
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to fill by `write_inside`, under a temporary name beside `path`. When the block
    ends, it is flushed to disk and renamed to `path`: it is there as a whole, or not at all.

    What `path` lies in is not made. On any error the temporary directory is removed.
    """
    try:
        partial = temporary_directory(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        yield partial
        os.chmod(partial, 0o777 & ~_umask())
        for folder, _, _ in os.walk(partial):
            _flush_directory(Path(folder))
        os.rename(partial, path)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _flush_directory(path.parent)


def write_inside(path: Path, *content: bytes | memoryview) -> None:
    """Write a new file of a directory that is not in its place yet, and flush it to disk."""
    with path.open("xb") as file:
        _write_out(file, content)


def temporary_directory(path: Path) -> Path:
    """An empty directory beside `path`, hidden, with a name that ends in `.partial`."""
    prefix = f".{path.name}."
    return Path(tempfile.mkdtemp(dir=path.parent, prefix=prefix, suffix=".partial"))


def remove_directory(path: Path) -> None:
    """Remove a directory so that it is there as a whole, or not at all. Of a link, the link."""
    if path.is_symlink():
        path.unlink()
        return
    doomed = temporary_directory(path)
    os.rename(path, doomed)  # in place of an empty one
    shutil.rmtree(doomed)


def _open_partial(path: Path) -> tuple[int, str]:
    """A temporary file beside `path`, locked for as long as it is written."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # someone took it for a killed writer's before it was locked


def remove_partials(folder: Path) -> None:
    """Remove what killed writers left half written in a folder. What is being written is locked,
    and stays.
    """
    for entry in folder.iterdir() if folder.is_dir() else ():
        if not _PARTIAL.fullmatch(entry.name):
            continue
        with contextlib.suppress(OSError):  # in use, or gone
            handle = os.open(entry, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                entry.unlink(missing_ok=True)
            finally:
                os.close(handle)


def _flush_directory(path: Path) -> None:
    """Until then a rename is only in the system's memory."""
    with contextlib.suppress(OSError):  # a file system that cannot
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_directory(path: Path) -> None:
    """That results can be written into a directory, there already or not: said before an hour's
    work, not after.
    """
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not existing.is_dir():
        raise InputError(f"{existing} is a file; give a directory")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {existing}: {os.strerror(errno.EACCES)}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_plain_file(path: Path) -> None:
    """That a path is a file which can be read to its end: a FIFO or a device may never end."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a null character in its name
        raise InputError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"cannot read {path}: {os.strerror(errno.EISDIR)}")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"cannot read {path}: it is not a regular file")


def size_of(path: Path, largest: int = LARGEST_FILE) -> int:
    """How many bytes a regular file has. One that has too many to be read is an error."""
    check_plain_file(path)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if size > largest:
        raise InputError(f"{path} has {size:,} bytes; at most {largest:,} are read")
    return size


def read_bytes(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """A file's content, or one clear line why there is none."""
    size_of(path, largest)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object from a file, or one clear line. what: what the file is, for the message."""
    return JsonFile(path, what).object


class JsonFile:
    """A JSON file, read and parsed at most once, however often it is asked."""

    def __init__(self, path: Path, what: str) -> None:
        """what: what the file is, for messages."""
        self.path, self.what = path, what

    @cached_property
    def exists(self) -> bool:
        return self.path.exists()

    @cached_property
    def start(self) -> bytes:
        """Its content, or as much of it as is ever read."""
        size_of(self.path)
        try:
            with self.path.open("rb") as file:
                return file.read(LARGEST_JSON)
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from None

    @property
    def object(self) -> dict[str, Any]:
        """The object that it holds, or one clear line why there is none."""
        parsed = self._parsed
        if isinstance(parsed, InputError):
            raise parsed
        return parsed

    @cached_property
    def _parsed(self) -> dict[str, Any] | InputError:
        what = self.what
        path = self.path
        if not self.exists:
            return InputError(f"{what} {path} is missing")
        try:
            size_of(path, LARGEST_JSON)
            value = json.loads(self.start)
        except InputError as error:
            return error
        # Not JSON, not UTF-8, or a number of too many digits
        except (ValueError, RecursionError) as error:
            return InputError(f"{what} {path} is not valid JSON: {error}")
        if not isinstance(value, dict):
            return InputError(f"{what} {path} holds {type(value).__name__}, not a JSON object")
        return value


def clean_id(text: str) -> str:
    """An id becomes a file name and is printed: letters, digits, dots, dashes and underscores,
    no leading dot.
    """
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")[:100] or "unnamed"
