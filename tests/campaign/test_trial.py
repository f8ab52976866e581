"""The campaign's own hands: a Ctrl-C that comes early or late is no failure of what it
interrupts.
"""

import os
import signal
import time
from typing import NoReturn

import pytest
from trial import INTERRUPTED, in_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_an_interrupt_waits_until_the_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "setsid", lambda: os.kill(os.getpid(), signal.SIGINT))
    ended = in_child(lambda: time.sleep(60))
    assert (ended.code, ended.said, ended.hung) == (INTERRUPTED, "", False)


def test_an_interrupt_after_the_work_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = os._exit

    def late(code: int) -> NoReturn:
        os.kill(os.getpid(), signal.SIGINT)
        leave(code)

    monkeypatch.setattr(os, "_exit", late)
    ended = in_child(lambda: None)
    assert (ended.code, ended.said) == (0, "")
