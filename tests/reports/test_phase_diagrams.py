from dataclasses import replace

import numpy
import pandas
import pytest
from report_pages import ATTACK, made_runs

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.pictures.marks import Band, Bars, Line, Panel, Points, Rule, Whiskers
from algophase.pictures.to_data import hover_text, marks_of
from algophase.pictures.to_plotly import draw
from algophase.reports.phase_diagrams import (
    histogram,
    metric_plane,
    rate_by_width,
    shares_by_tenth,
    shares_panel,
    transition,
)
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share


def points(panel: Panel) -> int:
    return sum(len(mark.x) for mark in marks_of(panel, Points))


def test_metrics_are_drawn_against_each_other() -> None:
    population = Runs.of(made_runs(300), "made")
    plane = metric_plane(population, SYMMETRICITY, IRRELEVANCE, "caption", "alt")
    assert points(plane) == 300
    assert (plane.x.name, plane.y.name) == ("gradient symmetricity", "distance irrelevance")
    assert [(rule.x, rule.y) for rule in marks_of(plane, Rule)] == [(0.98, None), (None, 0.6)]
    assert (plane.caption, plane.alt) == ("caption", "alt")


def test_continuous_widths_give_a_plane_with_transition_lines() -> None:
    widths = numpy.geomspace(32, 512, 300).round()
    population = Runs.of(made_runs(300, width=widths), "made")
    assert population.continuous_width
    assert population.groups() == [population]
    boundary = population.core.boundary(SYMMETRICITY, by_width=True, resamples=20)
    panel = rate_by_width(population, {SYMMETRICITY: boundary})
    assert points(panel) == len(population.core)
    (line,) = marks_of(panel, Line)
    assert line.name == "gradient symmetricity > 0.98"
    assert abs(numpy.mean(line.x) - 0.5) < 0.1


@pytest.mark.parametrize("width", [numpy.nan, 0.0])
def test_a_run_without_a_width_does_not_cost_the_transitions(width: float) -> None:
    table = made_runs(300, width=numpy.geomspace(32, 512, 300).round())
    number = Runs.of(table, "made").core.frame.index[0]
    whole = Runs.of(table.drop(index=number), "made")
    table.loc[number, "width"] = width
    population = Runs.of(table, "made").drawable()
    assert population.left_out == ((1, "no finite width above 0"),)
    expected = whole.core.boundary(SYMMETRICITY, by_width=True, resamples=20)
    assert expected.rate is not None
    assert population.core.boundary(SYMMETRICITY, by_width=True, resamples=20) == expected
    kept = pandas.concat([whole.core.frame, whole.core.frame[:1].assign(width=width)])
    assert (
        replace(whole, frame=kept).boundary(SYMMETRICITY, by_width=True, resamples=20) == expected
    )


def test_transitions_and_shares_carry_their_intervals() -> None:
    population = Runs.of(made_runs(300), "made")
    boundary = population.core.boundary(SYMMETRICITY, resamples=50)
    panel = transition([("made", population.core, boundary)], SYMMETRICITY)
    assert [type(mark) for mark in panel.marks] == [Band, Line, Whiskers]
    (shares,) = marks_of(panel, Whiskers)
    assert len(shares.x) == 10
    assert (shares.y[0], shares.y[-1]) == (1.0, 0.0)
    assert all(low < high for low, high in zip(shares.low, shares.high, strict=True))
    rows = shares_panel({"Clock": Share(1, 4), ATTACK: Share(3, 4), "none": Share(0, 0)})
    assert [mark.x[0] for mark in marks_of(rows, Whiskers)] == [0.25, 0.75]
    assert rows.y.tick_names == ["Clock", ATTACK, "none"]
    assert "<script" not in draw(rows).to_json()


def test_histograms_count_every_value_also_where_all_are_equal() -> None:
    for values in (numpy.linspace(0, 1, 50), numpy.ones(50), numpy.empty(0)):
        panel = histogram(values, ["Clock"] * len(values), "metric", 0.5)
        assert sum(sum(bars.lengths) for bars in marks_of(panel, Bars)) == len(values)
        assert [rule.x for rule in marks_of(panel, Rule)] == [0.5]
    unmarked = histogram(numpy.ones(3), ["Clock"] * 3, "metric", float("nan"))
    assert not marks_of(unmarked, Rule)


def test_verdicts_of_a_histogram_are_stacked() -> None:
    panel = histogram(numpy.array([0.0, 0.0, 1.0]), ["Clock", "Pizza", "Clock"], "metric")
    clocks, pizzas = marks_of(panel, Bars)
    assert (clocks.name, clocks.lengths[0], pizzas.lengths[0]) == ("Clock", 1, 1)
    assert pizzas.start[0] == 1
    assert hover_text(pizzas, 0).startswith("Pizza: 1 runs at about 0.0")


def test_shares_by_tenth_leave_out_tenths_and_columns_without_runs() -> None:
    runs = Runs.of(
        made_runs(4, attention_rate=[0.05, 0.07, 0.95, None], gradient_symmetricity=[1, 0.5, 1, 1]),
        "made",
    )
    assert shares_by_tenth(runs, SYMMETRICITY) == [(0, Share(1, 2)), (9, Share(1, 1))]
    without = replace(runs, frame=runs.frame.drop(columns=SYMMETRICITY))
    assert shares_by_tenth(without, SYMMETRICITY) == []
