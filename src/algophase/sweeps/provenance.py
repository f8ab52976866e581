"""Which code made a result: the package's version, and the commit where the package runs from a
repository.
"""

import functools
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

GIT_SECONDS = 120.0  # it answers in milliseconds: only one that hangs is not waited for


def version() -> str:
    from algophase import __version__

    return __version__


@functools.cache
def commit() -> str | None:
    """Of the repository that tracks this package, "+" added where the package is changed; None
    outside of one.

    ALGOPHASE_COMMIT says it for a copy without its repository, such as on an accelerator machine.
    """
    stated = os.environ.get("ALGOPHASE_COMMIT")
    if stated:
        return stated
    file = Path(__file__).resolve()
    package = file.parents[1]
    try:
        _git(package, "ls-files", "--error-unmatch", str(file))
        head = _git(package, "rev-parse", "--short=12", "HEAD")
        changed = _git(package, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def make(about: Mapping[str, Any] | None = None) -> str:
    """A state of the code in words: this one, or the one that a shard says made it."""
    code = {"version": version(), "commit": commit()} if about is None else about
    return ", ".join(
        f"{name} {str(code.get(name) or 'unknown')[:40]}" for name in ("version", "commit")
    )


def makes(calls: Iterable[object]) -> list[str]:
    """Every state of the code that made some of these shards' runs."""
    return sorted({make(call) for call in calls if isinstance(call, Mapping)})


def _git(directory: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments],
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
        timeout=GIT_SECONDS,
    ).stdout.strip()
