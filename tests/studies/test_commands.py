"""Every study is in the list of studies, and says by which command it runs."""

import ast
import re
from pathlib import Path

import pytest
from fenced import ROOT

STUDIES = sorted((ROOT / "studies").glob("*.py"))


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.stem)
def test_it_says_how_to_run_it(study: Path) -> None:
    docstring = ast.get_docstring(ast.parse(study.read_text(encoding="utf-8"))) or ""
    assert f"    python studies/{study.name}" in docstring


def test_the_list_has_every_study_and_picture() -> None:
    listed = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `(\w+\.py)`", listed, re.MULTILINE)
    assert sorted(names) == [study.name for study in STUDIES]
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        if picture.stem != "cover":  # by docs/generate
            assert f"`{picture.stem}`" in listed


def test_docs_have_pages_and_no_scripts() -> None:
    scripts = set((ROOT / "docs").rglob("*.py"))
    assert scripts == set((ROOT / "docs" / "generate").glob("*.py"))
