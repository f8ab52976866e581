import json
from pathlib import Path

import pandas
import pytest
from report_pages import ATTACK, Parsed, made_runs, made_sweep, parsed
from runs_made import keep

from algophase.networks.handmade import handmade_clock
from algophase.reports._sweep_section import Sweep, add_sweep, read_sweep
from algophase.reports.page import Page
from algophase.runs.runs import Runs
from algophase.storage.sweep_directory import SweepDirectory


def whole(table: pandas.DataFrame) -> Runs:
    """Every row of a table."""
    return Runs("made", table, len(table))


def test_runs_of_one_rate_get_no_picture_by_rate() -> None:
    runs = made_runs(200)
    for some, by_rate in ((runs, 2), (runs.assign(attention_rate=1.0), 0)):
        page = Page("page")
        add_sweep(page, Sweep(Path("made"), whole(some), Runs.of(some, "made"), None, ()))
        found = parsed(page)
        captions = found.texts["figcaption"]
        assert (
            sum(
                caption.endswith("95% interval") or "dotted: the paper's line" in caption
                for caption in captions
            )
            == by_rate + 1
        )
        assert ("transition at rate" in found.texts["th"]) == (by_rate > 0)


def test_between_three_rates_no_transition_is_fitted() -> None:
    runs = made_runs(200)
    runs = runs.assign(attention_rate=(2 * runs["attention_rate"]).round() / 2)
    page = Page("page")
    add_sweep(page, Sweep(Path("made"), whole(runs), Runs.of(runs, "made"), None, ()))
    found = parsed(page)
    assert "transition at rate" not in found.texts["th"]
    assert (
        "verdicts by attention rate; above each bar: its number of runs"
        in found.texts["figcaption"]
    )


def test_a_sweep_is_told_with_its_shares_and_transitions(tmp_path: Path) -> None:
    page = Page("page")
    add_sweep(page, read_sweep(made_sweep(tmp_path / "made", made_runs(400), title="some runs")))
    found = parsed(page)
    headings = [
        "Shares",
        "Phase diagrams",
        "Transitions",
        "Histograms",
        "Networks of these runs",
        "Where the runs come from",
    ]
    assert found.texts["h3"] == headings
    assert (
        "averages its inputs and reads the sum off their middle" in found.texts["td"]
    )  # what a Pizza is
    assert found.texts["pre"] == [
        f"algophase retrain {tmp_path / 'made'} INDEX --out networks/"
    ]  # none was kept
    assert any("space made-up (some runs), seed 0: 400 runs" in line for line in found.texts["li"])
    first = found.figures["figure-1"]
    assert first["layout"]["xaxis"]["title"]["text"] == "attention rate"
    bars = [trace for trace in first["data"] if trace["type"] == "bar"]  # verdicts by rate
    assert [trace["name"] for trace in bars] == ["Clock", "Pizza", "non-circular"]
    assert any("[" in cell and "of 400" in cell for cell in found.texts["td"])
    assert "gradient symmetricity > 0.98" in found.texts["td"]
    assert len(found.figures) == 2 + 3 + 3 + 4


def test_networks_that_were_kept_are_named_with_the_command_that_opens_them(tmp_path: Path) -> None:
    runs = made_runs(30, diverged_at=[7.0] + [None] * 29)
    path, rows = tmp_path / "made", runs.to_dict("records")
    SweepDirectory(path).describe({"name": "made-up"}, 0)
    lost = {"verdict": None, "paper_label": None}
    SweepDirectory(path).add(
        [rows[0] | lost, *(row | {"diverged_at": None} for row in rows[1:])], {}
    )
    for place in (0, 3):
        network = handmade_clock(7, (1,))
        network.id = str(runs["run_id"][place])
        keep(SweepDirectory(path), network)
    (path / "networks" / "no run of the table.safetensors").touch()
    page = Page("page")
    add_sweep(page, read_sweep(path))
    found = parsed(page)
    first = path / "networks" / f"{runs['run_id'][0]}.safetensors"
    assert found.texts["pre"][0].splitlines()[0] == f"algophase report {first} -o network.html"
    cells = found.texts["td"]
    assert [cells[cells.index(str(runs["run_id"][place])) + 2] for place in (0, 3)] == [
        "diverged",
        runs["verdict"][3],
    ]
    assert any("The weights of 2 of these runs were kept" in line for line in found.texts["p"])


def test_settings_with_which_nothing_was_learned_get_one_line(tmp_path: Path) -> None:
    runs = made_runs(60, layers=[1, 2] * 30, validation_accuracy=[1.0, 0.5] * 30)
    page = Page("page")
    add_sweep(page, read_sweep(made_sweep(tmp_path / "made", runs)))
    found = parsed(page)
    assert (
        "No run of layers 2 reached full accuracy: there is no phase diagram to draw."
        in found.texts["p"]
    )
    assert [head for head in found.texts["h3"] if head.startswith("Phase diagrams")] == [
        "Phase diagrams (layers 1)"
    ]


@pytest.mark.parametrize(
    "missing",
    [
        "verdict",
        "attention_rate",
        "gradient_symmetricity",
        "circularity",
        "run_id",
        "validation_accuracy",
        "width",
    ],
)
def test_a_column_that_is_missing_costs_its_pictures_only(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "made"
    path.mkdir()
    made_runs(100).drop(columns=missing).to_parquet(path / "runs.parquet")
    page = Page("page")
    add_sweep(page, read_sweep(path))
    found = parsed(page)
    assert len(found.figures) >= 3
    assert "100 runs of made" in found.texts["li"]


def test_runs_without_circularity_and_runs_that_diverged(tmp_path: Path) -> None:
    runs = made_runs(60, circularity=None, diverged_at=[None] * 59 + [7.0])
    runs.loc[59, ["validation_accuracy", "verdict"]] = None
    path = tmp_path / "made"
    path.mkdir()
    runs.to_parquet(path / "runs.parquet")
    page = Page("page")
    add_sweep(page, read_sweep(path))
    found = parsed(page)
    assert "diverged" in found.texts["td"]
    assert any("half of the accurate runs" in line for line in found.texts["p"])


def test_a_crafted_sweep_gives_an_inert_page(tmp_path: Path) -> None:
    runs = made_runs(60).astype({"run_id": object})
    runs["run_id"] = [ATTACK + str(i) for i in range(60)]
    runs["verdict"] = [ATTACK, "Clock", "</script><!--"] * 20
    runs["activation"] = ["relu", ATTACK] * 30
    runs[ATTACK] = 1
    about = {
        "device": ATTACK,
        "date": ATTACK,
        "command": ATTACK,
        "runs": ATTACK,
        "commit": [ATTACK],
        "shards": None,
    }
    page = Page(ATTACK)
    add_sweep(
        page, read_sweep(made_sweep(tmp_path / "made", runs, about, title=ATTACK, runs=ATTACK))
    )
    content = page.render().decode()
    found = Parsed(content)
    assert found.count("script") == len(found.figures) + 2
    assert found.count("img") == 0
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert ATTACK in found.words  # it is shown, as text
    for figure in found.figures.values():
        assert "<script" not in json.dumps(figure)
        assert "<img" not in json.dumps(figure)


def test_calls_that_are_not_records_are_left_out(tmp_path: Path) -> None:
    sweep = read_sweep(
        made_sweep(
            tmp_path / "made", made_runs(30), {"shards": ["text", 3, {"device": "a device"}]}
        )
    )
    assert sweep.calls == ({"device": "a device"},)


def test_runs_followed_along_training_are_part_of_the_section() -> None:
    runs = made_runs(40)
    moments = pandas.concat([runs.assign(epoch=epoch) for epoch in (100, 200, 400)])
    page = Page("page")
    add_sweep(
        page, Sweep(Path("made"), whole(runs), Runs.of(runs, "made"), None, (), whole(moments))
    )
    assert "Along training" in parsed(page).texts["h3"]
