"""The one error a user's input can cause. The command line prints its message as a single line and exits non-zero.

And how the one that a machine's size causes is told from others.
"""


class InputError(ValueError):
    """A file or setting that cannot be used. The message names the value given and the values allowed.

    >>> from algophase import InputError, TaskSettings
    >>> try:
    ...     TaskSettings(modulus=1)
    ... except InputError as error:
    ...     print(error)
    modulus is 1; it must be an integer of at least 2
    """


def out_of_memory(error: BaseException) -> bool:
    """Of a GPU's memory or the machine's own: torch raises a RuntimeError for both."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text
