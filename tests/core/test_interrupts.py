"""Ctrl-C, by a signal that this process sends itself."""

import os
import signal
from collections.abc import Iterator

import pytest

from algophase.core.interrupts import held_interrupts, lose_no_interrupt


@pytest.fixture(params=["Python's handler", "the command's"])
def handler(request: pytest.FixtureRequest) -> Iterator[object]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.param == "the command's":
        lose_no_interrupt()
    yield signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_press_is_noted_and_the_second_interrupts(handler: object) -> None:
    with held_interrupts() as pressed:
        assert not pressed()
        press()
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is handler
    with pytest.raises(KeyboardInterrupt):
        press()


def test_another_programs_handler_stays() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        theirs = signal.getsignal(signal.SIGINT)
        lose_no_interrupt()
        with held_interrupts() as pressed:
            press()
            assert not pressed()
        assert signal.getsignal(signal.SIGINT) is theirs
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
