"""The one error a user's input can cause. The command line prints its message as a single line and exits non-zero.

And how the one that a machine's size causes is told from others.
"""


class InputError(ValueError):
    """A file or setting that cannot be used. The message names the value given and the values allowed."""


def out_of_memory(error: BaseException) -> bool:
    """Of a GPU's memory or the machine's own: torch raises a RuntimeError for both."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text
