"""`InputError`, the one error that a user's input can cause: the command line prints its message as
a single line and exits non-zero. Also: how to recognize that memory ran out, and the message for an
extra that is not installed.
"""

import importlib
from typing import Any


class InputError(ValueError):
    """An unusable file or setting. Its message names the value given and the values allowed.

    Example:
        >>> from algophase import InputError, TaskSettings
        >>> try:
        ...     TaskSettings(modulus=1)
        ... except InputError as error:
        ...     print(error)
        modulus is 1; it must be an integer of at least 2
    """


class NotFinite(InputError):
    """A network with weights that are NaN or infinite: its training diverged."""


def out_of_memory(error: BaseException) -> bool:
    """Whether the GPU or the machine ran out of memory: torch raises a RuntimeError for both."""
    text = str(error).lower()
    return (
        isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text
    )


def one_line(error: BaseException) -> str:
    """Any exception in one line: its type, and the first line of its message."""
    if out_of_memory(error):
        return "it does not fit into memory"
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def import_extra(module: str, needs: str, extra: str) -> Any:
    """A module that one of the package's extras brings. needs: who needs what, for the message
    where it is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f'{needs}, which is not installed ({error}): pip install "algophase[{extra}]"'
        ) from None
