"""The catalogue, and that a metric added to it is found everywhere: one entry and one function
are enough.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_pages import parsed
from typer.testing import CliRunner

from algophase.analysis.analyze import analyze
from algophase.analysis.catalogue import (
    BARE,
    EXACT,
    IRRELEVANCE,
    SYMMETRICITY,
    Quantity,
    catalogue,
    catalogue_entries,
    cell_text,
    label,
    line,
    listed,
    metrics,
    quantity,
    register,
    unregister,
    value_text,
)
from algophase.analysis.logits.all_pairs import correct_logits
from algophase.analysis.measures import MEASURES
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.cli import app
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.explore.explorer import Explorer
from algophase.explore.layout import make_layout
from algophase.explore.networks import Networks
from algophase.explore.view import View
from algophase.explore.visible_runs import open_sweep
from algophase.interop._model_card import model_card
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.reports._sweep_section import add_sweep, read_sweep
from algophase.reports.network_section import add_network
from algophase.reports.page import Page
from algophase.runs.columns import records
from algophase.runs.read_runs import read_frame
from algophase.runs.rows import analysis_of_row, make_row
from algophase.runs.runs import Runs
from algophase.runs.selection import read_condition, select
from algophase.storage.network_files import save
from algophase.storage.runs_table import OpenTable
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.spaces import Space
from algophase.training.run.train import train

NAME, LABEL = "logit_size", "mean correct logit size"


@pytest.fixture
def logit_size() -> Iterator[Quantity]:
    """A made-up metric: what someone writes who adds one."""
    yield register(
        Quantity(
            NAME,
            LABEL,
            "mean absolute logit of the right answer",
            low=0,
            measure=lambda subject: correct_logits(subject.logits).abs().mean(),
        )
    )
    unregister(NAME)


def size(network: Network) -> float:
    return correct_logits(Specimen(network).logits).abs().mean().item()


def sweep(path: Path) -> list[Analysis]:
    """Three runs of a tiny network, trained and written as a sweep writes them."""
    directory, analyses, rows = SweepDirectory(path), list[Analysis](), []
    directory.describe(Space.from_dict({"name": "tiny"}).to_dict(), 0)
    for index in range(3):
        settings = TransformerSettings(8, attention_rate=index / 4)
        (trained,) = train(
            [RunSettings(TaskSettings(7), settings, TrainingSettings(epochs=2), seed=index)],
            device="cpu",
        )
        assert trained.network is not None
        analyses.append(analyze(trained.network))
        rows.append(make_row("tiny", index, trained, analyses[-1]))
        if index == 2:
            save(trained.network, directory.networks / trained.id)
    directory.add(rows, {"runs": len(rows)})
    return analyses


def options(layout: Any, name: str) -> dict[str, str]:
    """A dropdown's entries: labels by value."""
    (found,) = [part for part in layout._traverse() if getattr(part, "id", None) == name]
    return {option["value"]: option["label"] for option in found.options}


def test_a_new_metric_is_measured_and_printed(logit_size: Quantity, tmp_path: Path) -> None:
    network = handmade_pizza(13, (1, 5))
    analysis = analyze(network)
    assert (
        analysis.to_dict()[NAME]
        == analysis.metrics[NAME]
        == getattr(analysis, NAME)
        == pytest.approx(size(network))
    )
    assert f"  {LABEL} {size(network):.4g}" in str(analysis)
    assert f"| {LABEL} | {size(network):.4g} |" in model_card(network, analysis)
    printed = CliRunner().invoke(app, ["analyze", "--json", str(save(network, tmp_path / "pizza"))])
    assert printed.exit_code == 0, printed.output
    found = json.loads(printed.stdout)
    assert (found[0] if isinstance(found, list) else found)[NAME] == pytest.approx(size(network))


def test_a_new_metric_is_a_column_of_sweeps(logit_size: Quantity, tmp_path: Path) -> None:
    analyses = sweep(tmp_path / "sweep")
    assert NAME in OpenTable(tmp_path / "sweep").column_names
    columns = read_frame(OpenTable(tmp_path / "sweep"))
    assert columns[NAME].tolist() == [analysis.metrics[NAME] for analysis in analyses]
    middle = sorted(columns[NAME])[1]
    assert len(select(columns, [read_condition(f"{NAME}>{middle}")], sort=f"-{NAME}")) == 1
    assert Runs.read(tmp_path / "sweep").values(NAME).tolist() == columns[NAME].tolist()
    back = analysis_of_row(records(columns)[0])
    assert back is not None
    assert back.metrics == pytest.approx(analyses[0].metrics, nan_ok=True)


def test_a_new_metric_is_in_the_explorers_menus(logit_size: Quantity, tmp_path: Path) -> None:
    sweep(tmp_path / "sweep")
    table = open_sweep(tmp_path / "sweep")
    layout = make_layout(table)
    for menu in ("x", "y", "color", "filter-column"):
        assert options(layout, menu)[NAME] == LABEL, menu
    explorer = Explorer(Networks(table, tmp_path / "sweep", tmp_path / "cache"))
    figure = explorer.show_map(View(y=NAME), None).figure
    assert figure is not None
    assert figure.layout.yaxis.title.text == LABEL
    assert LABEL in str(explorer.show_runs(View(), 0).statistics)
    for run_id in table.runs.columns.texts(
        "run_id", range(3)
    ):  # from its row, and, for the last, from its weights
        view = View(run=run_id)
        assert LABEL in str(explorer.show_network(view, "run").metrics)


def test_a_new_metric_is_in_the_report(logit_size: Quantity, tmp_path: Path) -> None:
    sweep(tmp_path / "sweep")
    page = Page("page")
    network = handmade_clock(13, (1,))
    read = read_sweep(tmp_path / "sweep")
    learned = read.population.frame.assign(
        _accurate=True, circularity=1.0
    )  # as if they had been trained for longer
    everyone = replace(read.population, frame=learned)
    add_network(page, 1, Specimen(network), everyone)
    add_sweep(page, replace(read, population=everyone))
    found = parsed(page)
    assert LABEL in found.texts["td"]
    assert f"{size(network):.4g}" in found.texts["td"]
    assert any(
        caption.startswith(f"{LABEL} {size(network):.4g}, percentile")
        for caption in found.texts["figcaption"]
    )
    assert any(caption.startswith(f"{LABEL} of 3 runs") for caption in found.texts["figcaption"])


def test_without_it_nothing_is_left() -> None:
    assert NAME not in catalogue()
    assert NAME not in analyze(handmade_clock(7, (1,))).to_dict()


def test_a_name_that_is_taken_or_is_no_name_is_refused() -> None:
    with pytest.raises(
        InputError,
        match=r"there is a quantity 'circularity' already \(circularity\); choose another name",
    ):
        register(Quantity("circularity", "roundness"))
    with pytest.raises(InputError, match="a quantity's name is 'logit size'; it must be a word"):
        register(Quantity("logit size", "logit size"))
    with pytest.raises(InputError, match="there is no quantity 'roundness'; there are accuracy, "):
        quantity("roundness")


def test_a_mean_over_hidden_units_is_named_by_its_field() -> None:
    network = handmade_pizza(13, (1, 5))
    added = register(Quantity("circle_cka", "circle likeness", unit_mean="circle"))
    try:
        analysis = analyze(network)
    finally:
        unregister(added.name)
    units = Specimen(network).units
    assert units is not None
    assert analysis.metrics["circle_cka"] == pytest.approx(units.means.circle)
    with pytest.raises(InputError, match="unit_mean of size is 'radius'; choose one of disc, "):
        register(Quantity("size", "size", unit_mean="radius"))
    with pytest.raises(InputError, match="size has a measure and a unit_mean; give one"):
        register(Quantity("size", "size", unit_mean="fit", measure=lambda subject: 1.0))


@pytest.mark.parametrize("each", metrics(), ids=lambda each: each.name)
def test_every_metric_says_what_it_is(each: Quantity) -> None:
    assert each.label
    assert each.meaning
    assert each.place == "ours" or each.place.startswith(("section", "appendix", "arXiv"))
    assert (each.measure is None) != (each.unit_mean is None)
    assert len(each.head) <= 26  # for a table's head
    assert label(each.name) == each.label


def test_every_function_has_its_entry_and_every_metric_its_source() -> None:
    entries = catalogue_entries()["metrics"]
    without_unit_means = [name for name, entry in entries.items() if "unit_mean" not in entry]
    assert sorted(MEASURES) == sorted(without_unit_means)


def test_every_quantity_has_a_name_of_its_own() -> None:
    labels = [each.label for each in catalogue().values()]
    assert len(set(labels)) == len(labels)
    families = [each.family for each in metrics() if each.which]
    assert all(
        families.count(family) > 1 for family in families
    )  # which one it is, is told of several


def test_lines_are_the_verdicts() -> None:
    thresholds = Thresholds()
    assert line(SYMMETRICITY).value == line(EXACT).value == thresholds.gradient_symmetricity
    assert line(IRRELEVANCE).value == thresholds.clock_distance_irrelevance
    assert [line(SYMMETRICITY).inside(value) for value in (0.9, 0.98, 0.99, math.nan)] == [
        False,
        False,
        True,
        False,
    ]
    assert [line(IRRELEVANCE).inside(value) for value in (0.5, 0.6, 0.7)] == [True, False, False]
    assert quantity(IRRELEVANCE).phase == "distance irrelevance < 0.6"
    with pytest.raises(InputError, match="the paper draws no line along circularity"):
        line("circularity")


def test_values_are_written_one_way() -> None:
    assert (
        quantity("accuracy").text(0.99999) == "99.99%"
    )  # never rounded up to what it does not reach
    assert quantity(SYMMETRICITY).text(-0.00001) == "0.0000"
    assert quantity("training_loss").text(1.23456e-7) == "1.235e-07"
    assert [quantity(IRRELEVANCE).text(value) for value in (None, math.nan)] == [
        "undefined",
        "undefined",
    ]
    assert quantity(IRRELEVANCE).text(None, "-") == "-"
    assert quantity("metrics_agree").text(True) == "yes"
    assert quantity("accuracy").text(math.inf) == "inf"
    assert [quantity("accuracy").text(value) for value in ("high", 1)] == [
        "high",
        "100.00%",
    ]  # a table can hold anything
    assert [
        cell_text(value) for value in (None, math.nan, False, 128, 0.25, 1e-9, 1234.5678, "x" * 99)
    ] == [*("-", "-", "no", "128", "0.2500", "1e-09", "1235", "x" * 80)]
    assert (value_text("accuracy", 0.5), value_text("width", 64)) == ("50.00%", "64")


def test_metrics_that_are_listed() -> None:
    shown = [each.name for each in metrics() if each.shown]
    assert [each.name for each in listed({})] == shown
    assert BARE not in shown
    assert BARE in [each.name for each in listed({BARE: 0.5})]  # where it has a value
    assert "cross_entropy" not in [each.name for each in listed({"cross_entropy": 0.5})]
