"""Shipped sweeps by their names."""

import os
from pathlib import Path

from algophase.core.gallery import default_gallery as default_gallery
from algophase.storage.files import given_path


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
