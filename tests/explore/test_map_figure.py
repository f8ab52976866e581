from pathlib import Path

import numpy
import pytest
from explored_tables import made_up

from algophase.analysis.catalogue import IRRELEVANCE, line
from algophase.explore.map_figure import draw_map, map_key, names, selections
from algophase.explore.view import View
from algophase.explore.visible_runs import VisibleRuns, open_sweep, resolve
from algophase.storage.files import shipped

RUNS = made_up().runs


def test_a_run_is_named_where_it_lies_on_a_log_axis() -> None:
    view = resolve(RUNS, View(y="width", run=f"{2:012x}", pin=f"{0:012x}"))
    assert [(name["text"], name["x"], round(name["y"], 3)) for name in names(RUNS, view)] == [
        ("shown", 0.6, 2.709),
        ("pinned", 0.1, 1.204),
    ]


@pytest.mark.parametrize("color", ["verdict", "activation", "circularity", "equals_sign"])
def test_each_point_carries_its_run_whatever_colors_it(color: str) -> None:
    figure = draw_map(VisibleRuns(RUNS, View(y="width", color=color)))
    points = [trace for trace in figure.data if trace.customdata is not None]
    drawn = sorted(run_id for trace in points for run_id in trace.customdata)
    assert drawn == [f"{place:012x}" for place in range(4)]
    assert len({trace.marker.symbol for trace in points}) == len(
        points
    )  # shapes tell as much as colors
    assert len([trace for trace in figure.data if trace.showlegend is not False]) == len(points)
    assert figure.layout.yaxis.type == "log"


# The first runs of two tables. Of all runs the quantiles are less than 30 times apart.
@pytest.mark.parametrize(("sweep", "first"), [("layers-2", 120), ("decay", 350)])
def test_the_attention_rate_is_on_a_linear_axis(sweep: str, first: int) -> None:
    runs = open_sweep(shipped(Path(sweep))).runs
    runs = runs.where(runs["index"] < first)
    rates = runs.columns.finite("attention_rate")
    assert rates.min() > 0
    assert numpy.quantile(rates, 0.95) > 30 * numpy.quantile(
        rates, 0.05
    )  # it looks like one for a log axis
    figure = draw_map(VisibleRuns(runs, View()))
    assert figure.layout.xaxis.title.text == "attention rate"
    assert figure.layout.xaxis.type != "log"


def test_a_scale_can_be_chosen() -> None:
    shown = VisibleRuns(RUNS, View(x_scale="log", y="width", y_scale="linear"))
    layout = draw_map(shown).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", None)
    assert map_key(shown.view) != map_key(resolve(RUNS, View(y="width")))


def test_a_region_is_drawn_as_it_was() -> None:
    (box,) = selections(View(region=((0.1, 0.2), (0.3, 0.4))))
    assert [box[name] for name in ("x0", "y0", "x1", "y1")] == [0.1, 0.2, 0.3, 0.4]
    (lasso,) = selections(View(region=((0, 0), (1, 0), (0, 1))))
    assert lasso["path"] == "M0,0L1,0L0,1Z"


def test_text_of_a_table_cannot_become_markup() -> None:
    evil = "<b onclick=alert(1)>%{x}</b>"
    runs = made_up(run_id=[evil, "b", "c", "d"], verdict=[evil, None, None, None]).runs
    text = draw_map(VisibleRuns(runs, View(y="width"))).to_json()
    assert "<b " not in text.replace("\\u003c", "<")
    assert "%{x}</b>" not in text


def test_the_papers_line_is_drawn_where_the_paper_draws_one() -> None:
    runs = made_up(distance_irrelevance=[0.1, 0.2, 0.3, 0.7]).runs
    (shape,) = draw_map(VisibleRuns(runs, View(y=IRRELEVANCE))).layout.shapes
    assert shape.y0 == line(IRRELEVANCE).value
    assert not draw_map(VisibleRuns(runs, View(y="circularity"))).layout.shapes


def test_another_run_or_region_needs_no_new_map() -> None:
    assert map_key(View(run="a", off=(1,), region=((0, 0), (1, 1)))) == map_key(View())
    assert map_key(View(color="width")) != map_key(View())
