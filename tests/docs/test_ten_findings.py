"""The ten findings have the numbers that their script prints."""

import re
import subprocess
import sys

import pytest
from commands import PATIENCE
from fenced import ROOT

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (\d+)\. .+?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
TEXTS = re.findall(r"^## \d+\. (.+?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)


def test_each_has_a_picture_a_number_its_command_and_what_it_does_not_show() -> None:
    assert [str(number) for number in range(1, 11)] == SECTIONS
    for number, text in zip(SECTIONS, TEXTS, strict=True):
        assert len(re.findall(r"!\[[^\]]+\]\(images/[a-z-]+\.png\)", text)) == 1
        assert re.search(r"\*\*Number:\*\*.*?\[[^\]]+\]", text, re.DOTALL)
        assert f"`python studies/ten_findings.py {number}`" in text
        assert "**It does not show**" in text
        assert re.search(r"\*\*More:\*\* \[[^\]]+\]\(findings/", text)


@pytest.mark.slow
def test_the_script_prints_them() -> None:
    script = ROOT / "studies" / "ten_findings.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line, text in zip(lines, TEXTS, strict=True):
        one_line = " ".join(text.split())
        numbers = re.findall(r"[\d.]+%? \[[^\]]+\]", line)
        assert numbers, line
        for number in numbers:
            assert number in one_line, f"{number!r} of {line!r} is not in the finding"
