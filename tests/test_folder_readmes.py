"""Each folder of the source says in a short README what it is for, what it may import and what to
read first, and all of that is true.
"""

import re
from pathlib import Path

import pytest
from test_layering import ORDER, ROOT, imported

FOLDERS = [name for name in ORDER if (ROOT / name).is_dir()]
PROJECT = Path(__file__).parents[1]
LONGEST = 20  # lines


def readme(folder: str) -> str:
    return (ROOT / folder / "README.md").read_text(encoding="utf-8")


def may_import(text: str) -> set[str]:
    """The folders that a README names in its sentence on imports."""
    sentence = re.search(r"It may import [^.]*", text)
    assert sentence, "it does not say what it may import"
    return set(re.findall(r"`(\w+)`", sentence[0]))


def imports(folder: str) -> set[str]:
    """The other folders that a folder imports."""
    folders = set()
    for path in (ROOT / folder).rglob("*.py"):
        for module in imported(path):
            package, *rest = module.split(".")
            if package == "algophase" and rest[0] in FOLDERS:
                folders.add(rest[0])
    return folders - {folder}


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_imports_what_its_readme_says(folder: str) -> None:
    listed = may_import(readme(folder))
    assert imports(folder) <= listed
    assert listed <= set(ORDER[: ORDER.index(folder)])


@pytest.mark.parametrize("folder", FOLDERS)
def test_its_readme_is_short_and_names_files_that_exist(folder: str) -> None:
    text = readme(folder)
    assert len(text.splitlines()) <= LONGEST
    first = re.search(r"Read\s+`([^`]+)`\s+first", text)
    assert first, "it does not say which file to read first"
    assert (ROOT / folder / first[1]).is_file()
    for name in re.findall(r"`([\w/*]+\.(?:py|toml))`", text):
        assert exists(folder, name), f"{folder}/README.md names {name}"


def exists(folder: str, name: str) -> bool:
    """Whether a name is that of a file: in its folder, below it, or in another one."""
    inside = any((ROOT / folder).rglob(name))
    return inside or (ROOT / name).is_file()


def test_every_folder_is_in_the_readme_above_and_in_contributing() -> None:
    above = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`(\w+)`\]", above, re.MULTILINE) == FOLDERS
    for name in re.findall(r"`(\w+/[\w/]+\.py)`", above):
        assert (ROOT / name).is_file() or (PROJECT / name).is_file(), name
    contributing = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `(\w+)/` \|", contributing, re.MULTILINE)
    assert sorted(rooms) == sorted(FOLDERS)
