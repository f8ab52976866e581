"""The README keeps its promises: its lines run as they stand, its links lead somewhere, it fits
on a few screens.
"""

import re
from pathlib import Path

from fenced import OUTPUT, ROOT, blocks, check_output, run_block

README = ROOT / "README.md"
LINK = re.compile(r"\]\(([^)#\s]+)\)")


def test_its_lines_run_as_they_stand() -> None:
    code, shown = (
        block for block in blocks(README) if block.language == "python" or block.note == OUTPUT
    )
    assert len(code.text.splitlines()) <= 12
    check_output(shown, run_block(code, ROOT))


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 125


def test_links_lead_somewhere() -> None:
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "gallery" / "README.md"):
        targets = [
            link
            for link in LINK.findall(page.read_text(encoding="utf-8"))
            if not link.startswith("http")
        ]
        assert [link for link in targets if not (page.parent / link).exists()] == [], page.name


def test_lines_wrap_at_a_hundred_characters() -> None:
    """Tables, headings, pictures, and what a comment or a block holds may be longer;
    `reproduction.md` is generated.
    """
    pages = [
        README,
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        ROOT / "gallery" / "README.md",
    ]
    pages += [
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if "reproduction" not in str(page.relative_to(ROOT))
    ]
    assert {page: found for page in pages if (found := long_lines(page))} == {}


def long_lines(page: Path, most: int = 110) -> list[int]:
    found, inside = [], False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        inside ^= line.startswith("```")
        if len(line) > most and not inside and not line.startswith(("|", "#", "![", "<!--", ":::")):
            found.append(number)
    return found
