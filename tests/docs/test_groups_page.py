"""The table of docs/groups.md has the published numbers and ours."""

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from fenced import ROOT

from algophase import analyze, load
from algophase.core.element_names import element_names
from algophase.core.named_groups import named_group

GROUPS = ROOT.parent / "shared" / "foreign" / "groups"
needs_groups = pytest.mark.skipif(
    not GROUPS.exists(), reason="the networks of other groups are not here"
)


def study() -> ModuleType:
    path = ROOT / "studies" / "published_groups.py"
    spec = importlib.util.spec_from_file_location("published_groups", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STUDY = study()
S = 3**0.5 / 2


def rows_on_page() -> dict[str, list[str]]:
    """The cells of each network's row, by its name."""
    page = Path(STUDY.PAGE).read_text()
    table = page.split(STUDY.START)[1].split(STUDY.END)[0]
    rows = {}
    for line in table.splitlines()[2:]:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[name.strip("`")] = cells
    return rows


ROWS = rows_on_page()


def test_the_table_and_the_matrices_of_s3_are_right() -> None:
    page = Path(STUDY.PAGE).read_text()
    group = named_group("S3")
    names = element_names(group)
    for x, row in enumerate(group.table.tolist()):
        cells = [names[x], *(names[element] for element in row)]
        assert f"| {' | '.join(cells)} |" in page
    block = page.split("<!-- not run: matrices -->\n```text\n")[1].split("\n```")[0]
    head, *lines = block.splitlines()
    numbers = {"1": 1.0, "0": 0.0, "-1": -1.0, "½": 0.5, "-½": -0.5, "s": S, "-s": -S}
    rows = [[numbers[word] for word in line.split()] for line in lines]
    matrices = np.array(rows).reshape(2, 6, 2).transpose(1, 0, 2)
    elements = [names.index(name) for name in re.findall(r"\([^)]*\)", head)]
    by_element = dict(zip(elements, matrices, strict=True))
    for x, y in itertools.product(elements, repeat=2):
        product = by_element[int(group.table[x, y])]
        np.testing.assert_allclose(by_element[x] @ by_element[y], product, atol=1e-12)


def test_ours_are_the_published_numbers() -> None:
    assert len(ROWS) == 8
    for name, (_, label, _, *cells) in ROWS.items():
        characters, published, in_tables, published_in_tables, *_ = map(float, cells)
        assert label == ("not learned" if "hidden_dim" in name else "adding")
        tolerance = 0.025 if name.startswith("A5") else 1e-4  # whose published matrices are inexact
        assert characters == pytest.approx(published, abs=tolerance)
        assert in_tables == pytest.approx(published_in_tables, abs=0.01)


@needs_groups
def test_the_published_numbers_are_those_of_the_files() -> None:
    assert STUDY.names_in(GROUPS) == list(ROWS)
    for name, cells in ROWS.items():
        theirs = STUDY.published(GROUPS, name)
        assert [cells[4], cells[6]] == [f"{theirs.characters:.4f}", f"{theirs.in_tables:.4f}"]


@needs_groups
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "A5" in name else pytest.mark.slow) for name in ROWS]
)
def test_our_numbers_are_those_of_an_analysis(name: str) -> None:
    analysis = analyze(load(GROUPS / f"{name}.pt"))
    _, *cells = STUDY.row(analysis, STUDY.published(GROUPS, name))
    assert cells[:3] == ROWS[name][:3]
    ours, on_page = (list(map(float, row[3:])) for row in (cells, ROWS[name]))
    assert ours == pytest.approx(on_page, abs=2e-4)
