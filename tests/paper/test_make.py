"""Making items: files, claims.csv and the page, and what happens where data is not there."""

import csv
import json
from pathlib import Path

from algophase.paper.items import ITEMS, find_items
from algophase.paper.make import make, page
from algophase.paper.sources import Sources


def test_items_are_written_and_told(empty: Path, tmp_path: Path) -> None:
    told: list[str] = []
    out = tmp_path / "out"
    made = make(
        find_items(["algorithms", "approx"]),
        Sources(gallery=empty),
        out,
        lambda one: told.append(one.item.label),
    )
    assert told == ["algorithms", "approx"]
    assert {path.name for path in out.iterdir()} == {
        *(
            "algorithms.md",
            "algorithms.json",
            "approx.png",
            "approx.svg",
            "approx.json",
            "claims.csv",
        )
    }
    rows = list(csv.DictReader((out / "claims.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == sum(len(one.claims) for one in made)
    assert (rows[0]["label"], rows[0]["verdict"], rows[0]["source"]) == (
        "algorithms",
        "supported",
        "networks made by hand",
    )
    record = json.loads((out / "approx.json").read_text(encoding="utf-8"))
    assert [claim["text"] for claim in record["claims"]] == [
        row["claim"] for row in rows if row["label"] == "approx"
    ]


def test_the_page_shows_claims_pictures_and_tables(empty: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    made = make(
        find_items(["algorithms", "approx", "gelu"]), Sources(gallery=empty), tmp_path / "out"
    )
    text = page(made, path, "algophase paper algorithms approx gelu")
    assert "Written by `algophase paper algorithms approx gelu`; do not edit." in text
    assert (
        "2 of 3 items were made.\nClaims: 1 not tested, 1 paper contradicts itself, 7 supported."
        in text
    )
    assert "![|cos t| - |sin t| is about cos 2t](out/approx.png)" in text
    assert "| Algorithm | Measured on |" in text
    assert "appendix I. Not made: there is no sweep of gelu" in text


def test_an_item_without_its_data_is_reported_and_the_others_are_made(
    empty: Path, tmp_path: Path
) -> None:
    (empty / "exhibits.toml").write_text("")
    items = [item for item in ITEMS.values() if item.needs]
    results = make(items, Sources(gallery=empty), tmp_path / "out")
    missing = ("the gallery has no", "there is no sweep of")
    assert all(
        made.problem and made.problem.startswith(missing) and not made.files for made in results
    )
    assert all(made.verdict.startswith("not made: ") for made in results)
