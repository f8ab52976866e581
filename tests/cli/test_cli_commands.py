import re

import pytest
import typer
from commands import invoke

from algophase.cli import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_type_of_python_is_shown(name: str) -> None:
    shown = invoke(*([name] if name else []), "--help").output
    assert re.findall(r"<(?:bool|int|float|str|path|list)\b.*?>|list\[", shown) == []


def test_the_usage_line_says_what_may_be_left_out() -> None:
    assert "Usage: root analyze [OPTIONS] PATH...\n" in _stripped("analyze")
    assert "Usage: root runs [OPTIONS] [DIR]\n" in _stripped("runs")
    assert "Usage: root handmade [OPTIONS] clock|pizza|adding|multiplying\n" in _stripped(
        "handmade"
    )
    assert "Usage: root paper [OPTIONS] [LABEL...|all]\n" in _stripped("paper")


def test_choices_and_ranges_are_still_said() -> None:
    shown = invoke("analyze", "--help").output
    assert "png|svg|pdf" in shown
    assert "[0.0<=x<=1.0]" in shown


def _stripped(name: str) -> str:
    return "\n".join(line.strip() for line in invoke(name, "--help").output.splitlines()) + "\n"
