import numpy
import pandas
import pytest
from report_pages import ATTACK, made_runs

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.reports.phase_diagrams import (
    MOST_DRAWN_AS_SHAPES,
    Mark,
    histogram,
    metric_plane,
    rate_by_metric,
    rate_by_width,
    shares_by_tenth,
    shares_figure,
    transition,
)
from algophase.reports.plotly_style import look
from algophase.runs.runs import Runs, metric_boundary
from algophase.runs.statistics import Share


def test_phase_diagrams_hold_every_accurate_run_once() -> None:
    population = Runs.of(made_runs(300), "made")
    figure = rate_by_metric(
        population, SYMMETRICITY, population.core.boundary(SYMMETRICITY, resamples=20)
    )
    assert sum(len(trace.x) for trace in figure.data) == 300
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert {trace.marker.color for trace in figure.data} == {
        look(name)[0] for name in ("Clock", "Pizza", "non-circular")
    }
    assert len(figure.layout.shapes) == 3  # the paper's line, the transition, its interval
    assert (
        sum(len(trace.x) for trace in metric_plane(population, SYMMETRICITY, IRRELEVANCE).data)
        == 300
    )
    mark = Mark(1, ATTACK, "Clock", 0.7, {SYMMETRICITY: 0.5})
    marked = rate_by_metric(population, SYMMETRICITY, marks=[mark]).data[-1]
    assert (marked.x, marked.y, marked.text) == ((0.7,), (0.5,), ("1",))
    assert "<script" not in marked.hovertemplate


def test_many_runs_are_drawn_by_the_graphics_card() -> None:
    population = Runs.of(made_runs(MOST_DRAWN_AS_SHAPES + 1), "made")
    assert {trace.type for trace in rate_by_metric(population, IRRELEVANCE).data} == {"scattergl"}


def test_continuous_widths_give_a_plane_with_transition_lines() -> None:
    widths = numpy.geomspace(32, 512, 300).round()
    population = Runs.of(made_runs(300, width=widths), "made")
    assert population.continuous_width
    assert population.groups() == [population]
    boundary = metric_boundary(population.core.frame, SYMMETRICITY, by_width=True, resamples=20)
    figure = rate_by_width(population, {SYMMETRICITY: boundary})
    assert sum(len(trace.x) for trace in figure.data[:-1]) == len(population.core)
    assert figure.data[-1].name == "gradient symmetricity &gt; 0.98"
    assert abs(numpy.mean(figure.data[-1].x) - 0.5) < 0.1


@pytest.mark.parametrize("width", [numpy.nan, 0.0])
def test_a_run_without_a_width_does_not_cost_the_transitions(width: float) -> None:
    table = made_runs(300, width=numpy.geomspace(32, 512, 300).round())
    number = Runs.of(table, "made").core.frame.index[0]
    whole = Runs.of(table.drop(index=number), "made")
    table.loc[number, "width"] = width
    population = Runs.of(table, "made").drawable()
    assert population.left_out == ((1, "no finite width above 0"),)
    expected = metric_boundary(whole.core.frame, SYMMETRICITY, by_width=True, resamples=20)
    assert expected.rate is not None
    assert (
        metric_boundary(population.core.frame, SYMMETRICITY, by_width=True, resamples=20)
        == expected
    )
    kept = pandas.concat([whole.core.frame, whole.core.frame[:1].assign(width=width)])
    assert metric_boundary(kept, SYMMETRICITY, by_width=True, resamples=20) == expected


def test_transitions_and_shares_carry_their_intervals() -> None:
    population = Runs.of(made_runs(300), "made")
    boundary = population.core.boundary(SYMMETRICITY, resamples=50)
    figure = transition([("made", population.core.frame, boundary)], SYMMETRICITY)
    shares = figure.data[-1]
    assert len(shares.x) == 10
    assert (shares.y[0], shares.y[-1]) == (1.0, 0.0)
    assert all(
        high > 0 or low > 0
        for high, low in zip(shares.error_y.array, shares.error_y.arrayminus, strict=True)
    )
    bars = shares_figure({"Clock": Share(1, 4), ATTACK: Share(3, 4), "none": Share(0, 0)})
    assert [trace.x[0] for trace in bars.data] == [0.25, 0.75]
    assert "<script" not in bars.to_json()


def test_histograms_count_every_value_also_where_all_are_equal() -> None:
    for values in (numpy.linspace(0, 1, 50), numpy.ones(50), numpy.empty(0)):
        figure = histogram(values, ["Clock"] * len(values), "metric", 0.5)
        assert sum(sum(trace.y) for trace in figure.data) == len(values)
        assert figure.layout.shapes[0].x0 == 0.5
    assert not histogram(numpy.ones(3), ["Clock"] * 3, "metric", float("nan")).layout.shapes


def test_shares_by_tenth_leave_out_tenths_and_columns_without_runs() -> None:
    runs = Runs.of(
        made_runs(4, attention_rate=[0.05, 0.07, 0.95, None], gradient_symmetricity=[1, 0.5, 1, 1]),
        "made",
    ).frame
    assert shares_by_tenth(runs, SYMMETRICITY) == [(0, Share(1, 2)), (9, Share(1, 1))]
    assert shares_by_tenth(runs.drop(columns=SYMMETRICITY), SYMMETRICITY) == []
