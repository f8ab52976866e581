"""Which files of a tree of folders may hold networks, what names their content, and what their
paths say.
"""

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.wording import counted
from algophase.storage.analyses import distinct
from algophase.storage.files import given_path
from algophase.storage.formats.contents import SUFFIXES, Reading
from algophase.storage.formats.one_hot_activation import activation_in_path, split_files
from algophase.storage.formats.sidecars import sidecars
from algophase.storage.kept_analyses import code_digest

NUMBER = r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![0-9])"  # what {} of a rule stands for
PIECE = 1 << 20  # bytes of a file that are read at once


@dataclass(frozen=True)
class Tree:
    """What lies in folders. files: those that may hold networks, by their names, sorted; others:
    how many there are of each other suffix, the configs of networks not counted.
    """

    files: list[Path]
    others: Counter[str]


def find_files(paths: Iterable[str | os.PathLike[str]]) -> Tree:
    """The files in folders and their folders, each once. Hidden ones are left out."""
    candidates = list[Path]()
    for folder in paths:
        path = given_path(folder)
        if not path.exists():
            raise InputError(f"{path} does not exist; give folders with networks")
        candidates += _inside(path) if path.is_dir() else [path]
    files = list[Path]()
    others = Counter[str]()
    candidates.sort(key=os.path.islink)  # a link is found last: configs lie beside the file
    for path in distinct(candidates):
        if path.suffix in SUFFIXES:
            files.append(path)
        elif path.suffix != ".json":
            others[path.suffix or "no suffix"] += 1
    return Tree(sorted(files), others)


def _inside(folder: Path) -> list[Path]:
    """All files below a folder. Links to folders are not followed: they may go round in circles."""
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = [name for name in names if not name.startswith(".")]
        files += [Path(parent) / name for name in visible]
    return files


@dataclass(frozen=True)
class PathRule:
    """A setting that stands in the paths of files: `attention_rate=model_B_{}`.

    pattern: a piece of a path without its suffix. `{}` is a number, `*` any letters but `/`.
    """

    setting: str
    pattern: str

    @classmethod
    def parse(cls, text: str) -> "PathRule":
        setting, equals, pattern = text.partition("=")
        if not equals or not re.fullmatch(r"[a-z][a-z0-9_]*", setting) or pattern.count("{}") != 1:
            raise InputError(
                f"setting is {text!r}; write NAME=PATTERN with one {{}} for the number, such as "
                "attention_rate=model_B_{}"
            )
        return cls(setting, pattern)

    def value(self, path: Path) -> int | float | None:
        """The number in a path, or None where the rule does not fit."""
        pieces = re.escape(self.pattern).replace(r"\*", "[^/]*")
        expression = pieces.replace(r"\{\}", NUMBER)
        match = re.search(expression, path.with_suffix("").as_posix())
        if match is None:
            return None
        text = match[1]
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def settings_in_path(path: Path, rules: Sequence[PathRule]) -> dict[str, int | float]:
    """What the rules find in a path. Of two rules for a setting, the first that fits."""
    settings = dict[str, int | float]()
    for rule in rules:
        value = rule.value(path)
        if value is not None:
            settings.setdefault(rule.setting, value)
    return settings


def check_fits(rules: Sequence[PathRule], files: Sequence[Path]) -> None:
    """That each rule fits a path: one with a typing error would be of no effect."""
    for rule in rules:
        if all(rule.value(path) is None for path in files):
            asked = f"{rule.setting}={rule.pattern}"
            example = files[0].with_suffix("")
            raise InputError(
                f"setting {asked} fits none of {counted(len(files), 'path')}, such as {example}"
            )


@dataclass(frozen=True)
class Question:
    """One file and all that its row depends on. in_path: settings by the rules for paths. device:
    where to compute, on which a row does not depend but for rounding.

    This is what a worker is sent.
    """

    path: Path
    reading: Reading
    operation: str | None
    thresholds: Thresholds
    in_path: Mapping[str, int | float]
    device: str = "cpu"

    def digest(self) -> str:
        """Of the file, the configs beside it, what is said about them, and the code. Of the path,
        only what is read from it is part, and its suffix: a file that was moved is recognized.
        """
        about = {
            "reading": {name: str(value) for name, value in asdict(self.reading).items()},
            "operation": self.operation,
            "thresholds": asdict(self.thresholds),
            "in_path": dict(self.in_path),
            "suffix": self.path.suffix,
            "activation_in_path": activation_in_path(self.path),
            "code": code_digest("storage/formats", "surveys"),
        }
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for path in (self.path, *sidecars(self.path), *split_files(self.path)):
            digest.update(_digest_of_file(path))
        return digest.hexdigest()[:32]


def _digest_of_file(path: Path) -> bytes:
    """One that cannot be read has a digest, too: its row says why."""
    digest = hashlib.sha256()
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a named pipe would wait for ever
            return b"no regular file"
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
    except OSError as error:
        return f"cannot be read: {error.errno}".encode()
    return digest.digest()
