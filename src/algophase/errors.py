"""The one error a user's input can cause. The command line prints its message as a single line and exits non-zero."""


class InputError(ValueError):
    """A file or setting that cannot be used. The message names the value given and the values allowed."""
