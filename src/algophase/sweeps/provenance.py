"""Which code made a result: the package's version, and the commit where the package runs from a repository."""

import functools
import os
import subprocess
from pathlib import Path


def version() -> str:
    from algophase import __version__

    return __version__


@functools.cache
def commit() -> str | None:
    """Of the repository that tracks this package, "+" added where it is changed; None outside of one.

    ALGOPHASE_COMMIT says it for a copy without its repository, such as on an accelerator machine.
    """
    told = os.environ.get("ALGOPHASE_COMMIT")
    if told:
        return told
    here = Path(__file__).resolve().parent
    try:
        _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
        head = _git(here, "rev-parse", "--short=12", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def _git(directory: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=directory, check=True, capture_output=True, text=True, timeout=10
    ).stdout.strip()
