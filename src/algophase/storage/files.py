"""Writing beside and renaming into place: a killed process leaves the old file or the new one, never half of one."""

import errno
import os
import tempfile
from pathlib import Path

from algophase.errors import InputError
from algophase.settings import shown


def given_path(path: str | os.PathLike[str]) -> Path:
    """What a caller gave as a path, if it is one."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"the path is {shown(path)}; give the name of a file or directory") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Write, flush to disk, then rename over `path`. On any error the temporary file is removed and `path` is untouched."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_directory(path: Path) -> None:
    """That results can be written into a directory, there already or not: said before an hour's work, not after."""
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"{there} is a file; give a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {there}: {os.strerror(errno.EACCES)}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_bytes(path: Path) -> bytes:
    """A file's content, or one clear line why there is none."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
