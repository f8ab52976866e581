"""A sweep at a glance, and its small picture."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from runs_made import TINY, row, sweep_of

from algophase.core.gallery import default_gallery
from algophase.core.palette import VERDICTS
from algophase.reports.population_map import HIGH, WIDE, card, draw_population, draw_shares, key
from algophase.runs.overview import describe_origin
from algophase.runs.populations import Population, find_sweeps, read_population, stamp
from algophase.runs.runs import Runs
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.merge import merge
from algophase.sweeps.spaces import Space


def run(
    index: int, verdict: str | None, x: Any, y: Any, accuracy: float = 1.0, **more: Any
) -> dict[str, Any]:
    metrics = {
        "gradient_symmetricity": x,
        "distance_irrelevance": y,
        "validation_accuracy": accuracy,
    }
    return {
        **row(index),
        "verdict": verdict,
        "paper_label": verdict,
        "diverged_at": None,
        **metrics,
        **more,
    }


def test_it_says_what_a_sweep_is_and_where_each_run_lies(tmp_path: Path) -> None:
    first = [
        run(0, "Clock", 0.3, 0.9),
        run(1, "Pizza", 0.99, 0.2),
        run(2, None, None, None, 0.0, diverged_at=7),
    ]
    second = [run(3, "not learned", float("nan"), 0.5, 0.4)]
    directory = sweep_of(
        tmp_path / "mine",
        first,
        second,
        space=replace(TINY, title="", runs=9),
        seed=3,
        commit="one",
    )
    found = read_population(directory.path)
    assert (found.name, found.runs, found.planned, found.accurate) == ("mine", 4, 9, 2)
    assert found.counts == {"Clock": 1, "Pizza": 1, "not learned": 1, "diverged": 1}
    assert found.points == {"Clock": [(0.3, 0.9)], "Pizza": [(0.99, 0.2)]}
    assert found.origin == "2026-01-02, commit one, CPU"
    assert found.about.startswith("transformer, modulus ")
    assert found.about.endswith(", seed 3")
    assert found.problems == ()


def test_a_sweep_says_what_varies_or_its_title(tmp_path: Path) -> None:
    space = {
        "name": "a",
        "task": {"modulus": 7},
        "network": {"width": 8, "attention_rate": {"uniform": [0, 1]}},
    }
    told = "transformer, modulus 7, width 8, varying attention rate"
    for place, title in (("untitled", ""), ("titled", "a title")):
        made = Space.from_dict({**space, **({"title": title} if title else {})})
        assert read_population(sweep_of(tmp_path / place, [row(0)], space=made).path).about == (
            title or told
        )


def test_runs_of_merged_sweeps_keep_their_origins(tmp_path: Path) -> None:
    for number in range(5):
        sweep_of(tmp_path / f"{number}", [row(number)], commit=f"c{number}")
    merge([tmp_path / f"{number}" for number in range(5)], tmp_path / "all")
    found = read_population(tmp_path / "all")
    assert found.origin == "2026-01-02, commits c0, c1, c2 and 2 more, CPU"
    assert len(describe_origin(SweepDirectory(tmp_path / "all").calls())) == 5


def test_what_cannot_be_read_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    directory = sweep_of(tmp_path / "half", [row(0)])
    (directory.path / "runs-000009-1-x.parquet").write_bytes(b"no")
    half = read_population(directory.path)
    assert half.runs == 1
    assert "not a readable Parquet file" in half.problems[0]
    assert read_population(sweep_of(tmp_path / "empty").path).problems == (
        "no run is finished yet",
    )
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "sweep.json").write_text('{"format": "other"}')
    assert "format is 'other'" in read_population(tmp_path / "odd").problems[0]


def test_sweeps_are_found_two_folders_down_and_not_in_hidden_ones(tmp_path: Path) -> None:
    wanted = [sweep_of(tmp_path / place, [row(0)]).path for place in ("a", "sweeps/b", "sweeps/c")]
    for place in (".hidden", "a/networks/more/deep", "sweeps/.old"):
        sweep_of(tmp_path / place, [row(0)])
    assert find_sweeps(tmp_path) == wanted


def test_a_stamp_changes_with_the_runs(tmp_path: Path) -> None:
    directory = sweep_of(tmp_path / "a", [row(0)])
    before = stamp(directory.path)
    assert stamp(directory.path) == before
    with directory.hold("a test"):
        directory.add([row(1)], {})
    assert stamp(directory.path) != before
    assert stamp(tmp_path / "nowhere") == ()


def test_the_shipped_tables_are_what_runs_says_of_them() -> None:
    gallery = default_gallery()
    assert gallery is not None
    for path in find_sweeps(gallery):
        found, runs = read_population(path), Runs.read(path)
        assert found.problems == ()
        assert (found.runs, found.accurate) == (len(runs), len(runs.accurate))
        assert found.counts == runs["_verdict"].value_counts().to_dict()


def places(svg: str) -> Sequence[tuple[int, int]]:
    """Where marks begin: the first point of each, but for the grid's lines."""
    paths = [part.attrib["d"] for part in ElementTree.fromstring(svg).iter("path")][2:]
    return [(int(x), int(y)) for path in paths for x, y in re.findall(r"M(-?\d+) (-?\d+)", path)]


def test_a_picture_has_every_run_inside_and_points_on_one_pixel_once() -> None:
    points = {
        "Clock": [(0.0, 1.0), (0.0, 1.0), (-0.2, 1.7)],
        "Pizza": [(1.0, 0.0)],
        "a new one": [(0.5, 0.5)],
    }
    drawn = places(
        draw_population(
            Population(Path("a"), "a", runs=5, points=points, counts={"Clock": 3, "Pizza": 1})
        )
    )
    assert len(drawn) == 3
    assert all(0 < x < WIDE and 0 < y < HIGH for x, y in drawn)
    (left, high), (right, low) = drawn[0], drawn[1]
    assert left < right
    assert high < low  # Clocks lie up on the left


@pytest.mark.parametrize("verdict", [*VERDICTS, "not analyzed"])
def test_every_verdict_has_a_mark_of_its_own(verdict: str) -> None:
    others = {key([other]).replace(other, "") for other in VERDICTS if other != verdict}
    assert key([verdict]).replace(verdict, "") not in others or verdict == "not analyzed"
    ElementTree.fromstring(key([verdict]))


def test_shares_fill_the_bar() -> None:
    bar = ElementTree.fromstring(draw_shares({"Clock": 1, "Pizza": 2, "lookup": 1}))
    widths = [float(part.attrib["width"]) for part in bar]
    assert widths == [25, 50, 25]
    assert [float(part.attrib["x"]) for part in bar] == [0, 25, 75]


def test_text_from_files_is_text() -> None:
    evil = '<script>alert("1")</script>'
    population = Population(
        Path("a"), evil, evil, 9, 1, counts={evil: 1}, points={evil: [(0.5, 0.5)]}, problems=(evil,)
    )
    made = card(population, f"/sweep/{evil}/")
    assert "<script" not in made
    assert 'alert("' not in made
    ElementTree.fromstring(made)
    assert "1 of 9 runs" in made
    assert "by the paper" not in made
    assert "by the paper&#x27;s labels" in card(
        replace(population, verdict_name="paper's label"), "/"
    )
