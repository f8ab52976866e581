"""What is kept between commands and can be made again: where it lies, and which code made it."""

import functools
import hashlib
import os
from pathlib import Path


def cache_directory(name: str) -> Path:
    """Where this user's programs keep what can be made again. A user without a home directory, as
    in many containers, has no such place: nothing can be read or written below what is returned.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        root = Path(os.devnull)
    return root / "algophase" / name


@functools.cache
def source_digest(*folders: str) -> str:
    """Changes with every line of these folders of the package: between two releases the version
    does not.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in folders:
        for path in sorted((package / name).rglob("*")):
            if path.suffix in (".py", ".toml"):  # the catalogue of metrics is data
                digest.update(path.read_bytes())
    return digest.hexdigest()
