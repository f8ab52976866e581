"""The `algophase` command in tests: in this process, or as a program where the process itself is
what is tested.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
from unittest.mock import patch

import pytest
from typer.testing import CliRunner, Result

from algophase.cli import app, main

# Seconds until a program that does not end fails its test; it is never a measure of speed
PATIENCE = 3600.0

Done = subprocess.CompletedProcess[str]


def invoke(*arguments: object) -> Result:
    """The command in this process; an exception that would end it is in the result."""
    return CliRunner().invoke(app, [*map(str, arguments)])


def call(*arguments: object) -> Done:
    """The entry point in this process: exit code, output and error lines as a shell would see
    them.
    """
    words, out, err = [*map(str, arguments)], io.StringIO(), io.StringIO()
    handler = signal.getsignal(signal.SIGINT)
    try:
        with (
            patch.object(sys, "argv", ["algophase", *words]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as stop,
        ):
            main()
    finally:
        signal.signal(signal.SIGINT, handler)  # the entry point has one of its own
    return Done(words, int(stop.value.code or 0), out.getvalue(), err.getvalue())


def python(*arguments: object, **environment: str) -> Done:
    """A Python program with these arguments."""
    command = [sys.executable, *map(str, arguments)]
    settings = {**os.environ, **environment}
    return subprocess.run(
        command, env=settings, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
