"""The short form of the campaign: every part once or a few times. `make campaign MINUTES=60` is
the long one.
"""

from pathlib import Path

import pytest
from commands import python


@pytest.mark.slow
def test_a_minute_of_everything_finds_nothing() -> None:
    done = python(Path(__file__).with_name("campaign.py"), "--minutes", 0.5, "--seed", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no failure" in done.stdout
    assert done.stdout.count(" | 0 | ") > 20  # parts


@pytest.mark.slow
def test_a_part_that_is_not_there_is_named() -> None:
    done = python(Path(__file__).with_name("campaign.py"), "--only", "nothing")
    assert done.returncode == 1
    assert "choose one of: sweep, killed at a time; " in done.stderr
