import pytest
from report_pages import made_runs

from algophase.pictures.marks import Bars, Labels, Panel
from algophase.pictures.to_data import hover_text, marks_of
from algophase.reports.by_setting import (
    MOST_VALUES,
    panels_by_setting,
    shares_by_rate,
    shares_by_setting,
)
from algophase.runs.runs import Runs


def heights(panel: Panel) -> list[float]:
    """Of the stacks."""
    return [sum(stack) for stack in zip(*(b.lengths for b in marks_of(panel, Bars)), strict=True)]


def test_every_value_of_a_grid_has_a_bar_that_adds_up_to_all_its_runs() -> None:
    population = Runs.of(made_runs(90, modulus=[60, 59, 113] * 30), "made")
    panel = shares_by_setting(population, "modulus")
    assert panel.x.tick_names == ["59", "60", "113"]  # by number, not by text
    bars = marks_of(panel, Bars)
    assert {tuple(mark.positions) for mark in bars} == {(0, 1, 2)}
    assert heights(panel) == pytest.approx([1, 1, 1])
    clocks = next(mark for mark in bars if mark.name == "Clock")
    of_60 = population["_verdict"][population["modulus"] == 60]
    assert clocks.lengths[1] == (of_60 == "Clock").mean()
    assert hover_text(clocks, 1).startswith("modulus 60: Clock ")
    (counts,) = marks_of(panel, Labels)
    assert counts.texts == ["30", "30", "30"]


def test_only_settings_of_a_few_values_get_a_picture() -> None:
    runs = made_runs(2 * (MOST_VALUES + 1))
    assert panels_by_setting(Runs.of(runs, "made")) == []  # rates are drawn from an interval
    decays = runs.assign(
        weight_decay=[0.0, 0.5] * (MOST_VALUES + 1), heads=["many", "few"] * (MOST_VALUES + 1)
    )
    (panel,) = panels_by_setting(Runs.of(decays, "made"))
    assert panel.caption == "verdicts by weight decay; above each bar: its number of runs"
    assert panel.alt == "Shares of the verdicts for each weight decay: 0, 0.5."


def test_verdicts_are_stacked_along_the_attention_rate() -> None:
    population = Runs.of(made_runs(400), "made")
    panel = shares_by_rate(population)
    assert panel.x.tick_names is not None
    assert panel.x.tick_names[:3] == ["0", "0.1", "0.2"]
    assert heights(panel) == pytest.approx([1] * 10)
    (counts,) = marks_of(panel, Labels)
    assert sum(map(int, counts.texts)) == 400
    low = shares_by_rate(Runs.of(made_runs(50).assign(attention_rate=0.25), "made"))
    assert low.x.tick_names == ["0.2 to 0.3"]
