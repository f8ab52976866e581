"""Where the shipped sweeps and networks are. An installed package has the tables, a clone of the project the networks too."""

import os
from pathlib import Path

from algophase.storage.files import given_path

PACKAGE = Path(__file__).resolve().parents[1]


def default_gallery() -> Path | None:
    """The gallery beside this package's source, in the current directory, or in the installed package."""
    for candidate in (PACKAGE.parents[1] / "gallery", Path("gallery"), PACKAGE / "gallery"):
        if candidate.is_dir():
            return candidate
    return None


def shipped(path: str | os.PathLike[str]) -> Path:
    """A path, or the shipped sweep of that name where there is nothing else of it: `fixed-width`."""
    path, gallery = given_path(path), default_gallery()
    if gallery is None or len(path.parts) != 1 or path.exists() or not (gallery / path / "sweep.json").exists():
        return path
    return gallery / path
