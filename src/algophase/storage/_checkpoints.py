"""Checkpoints of interrupted ensembles, one safetensors file each; what it holds stands as JSON in
the file's own header.

One file, written beside and renamed into place, is whole or absent: tensors and description cannot
come apart. It holds its own checksum, and one of the description, which is read more often than the
tensors.
"""

import hashlib
import json
import mmap
from collections.abc import Callable, Sequence
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, shown
from algophase.storage._seal import BLANK, is_intact, sealed
from algophase.storage.files import check_plain_file, write_atomically
from algophase.training.run.checkpoint import Checkpoint, Description

FORMAT = "algophase-ensemble"
VERSION = "1"


class DirectoryCheckpoints:
    """A `training.checkpoint.Checkpointer` that keeps its files in a directory, named after the
    runs they hold.

    every_seconds: how often a running ensemble is saved; an ensemble of 512 networks of width 128
        is about 1.5 GB.
    check: called before anything is written; it raises where writing would be wrong.
    """

    def __init__(
        self,
        directory: str | Path,
        every_seconds: float = 300.0,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.directory = Path(directory)
        self.every_seconds = every_seconds
        self.check = check
        self._found: dict[tuple[RunSettings, ...], Path] = {}

    def path(self, runs: Sequence[RunSettings]) -> Path:
        """The file of these runs: where it was found, for someone may have renamed it, or where
        it will be written.
        """
        names = ",".join(run.run_id for run in runs)
        named = self.directory / f"{hashlib.sha256(names.encode()).hexdigest()[:12]}.safetensors"
        return self._found.get(tuple(runs), named)

    def where(self, description: Description) -> str:
        return str(self.path(description.runs))

    def pending(self) -> list[Description]:
        self._found.clear()
        if not self.directory.is_dir():
            return []
        files = sorted(
            entry for entry in self.directory.iterdir() if entry.suffix == ".safetensors"
        )
        descriptions = []
        for file in files:
            if file.name.startswith("."):
                continue
            description = _describe(file)
            first_file = self._found.setdefault(description.runs, file)
            if first_file != file:
                raise InputError(
                    f"checkpoints {first_file} and {file} hold the same runs; remove one of them"
                )
            descriptions.append(description)
        return descriptions

    def read(self, description: Description) -> Checkpoint:
        path = self.path(description.runs)
        stored = _describe(path)
        try:
            if not _is_intact(path):
                raise InputError(
                    f"checkpoint {path} does not match its checksum: it was changed; remove it "
                    "to start anew"
                )
            with safe_open(path, framework="pt") as file:
                names = file.keys()  # its own method: the file is no mapping
                return Checkpoint(stored, {name: file.get_tensor(name) for name in names})
        except (SafetensorError, OSError) as error:
            raise _unreadable(path, error) from None

    def write(self, checkpoint: Checkpoint) -> None:
        tensors = {
            name: value.detach().cpu().contiguous() for name, value in checkpoint.tensors.items()
        }
        ensemble = json.dumps(checkpoint.description.to_dict())
        header = {
            "format": FORMAT,
            "version": VERSION,
            "ensemble": ensemble,
            "ensemble_sha256": _digest(ensemble),
        }
        content = sealed(safetensors.torch.save(tensors, {**header, "checksum": BLANK}))
        self.check()
        try:  # what the directory lies in is not made: it may have been removed on purpose
            write_atomically(
                self.path(checkpoint.description.runs), *content, inside=self.directory.parent
            )
        except InputError:
            self.check()
            raise

    def remove(self, runs: Sequence[RunSettings]) -> None:
        self.path(runs).unlink(missing_ok=True)
        self._found.pop(tuple(runs), None)
        try:
            self.directory.rmdir()  # the last one takes the empty directory along
        except OSError:
            return


def _digest(ensemble: str) -> str:
    return hashlib.sha256(ensemble.encode()).hexdigest()


def _is_intact(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return is_intact(content, sealed_by_us=True)


def _unreadable(path: Path, error: Exception) -> InputError:
    """A file that cannot be read for the moment is no reason to remove it."""
    if isinstance(error, OSError) and error.errno is not None:
        return InputError(f"cannot read checkpoint {path}: {error.strerror}")
    return InputError(f"checkpoint {path} is not readable ({error}); remove it to start anew")


def _describe(path: Path) -> Description:
    check_plain_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from None
    stated = (header.get("format"), header.get("version"))
    if stated != (FORMAT, VERSION):
        raise InputError(
            f"checkpoint {path} is {shown(stated[0])} version {shown(stated[1])}; this program "
            f"reads {FORMAT!r} {VERSION!r}"
        )
    try:
        if header.get("ensemble_sha256") != _digest(header["ensemble"]):
            raise InputError("its description does not match its checksum: it was changed")
        return Description.from_dict(json.loads(header["ensemble"]))
    except (InputError, KeyError, ValueError, RecursionError) as error:  # ValueError: not JSON
        raise InputError(f"checkpoint {path}: {error}; remove it to start anew") from None
