"""Pictures of populations are the same each time, and no run is left out of them."""

from pathlib import Path

import numpy
import pytest
from made_items import AS_TOLD, linear, transformers, write_linear, write_transformers

from algophase.paper.items import find_items
from algophase.paper.make import make
from algophase.paper.population_figures import (
    by_verdict,
    linear_figure,
    metrics_figure,
    rates_figure,
    worst_circularity,
)
from algophase.paper.populations import by_circularity, transitions
from algophase.paper.sources import Sources
from algophase.pictures.marks import Bars, Figure, Points, legend_name
from algophase.pictures.to_data import marks_of
from algophase.runs.runs import Runs

SPACES = (
    "fixed-width",
    "varying-width",
    "layers-2",
    "layers-3",
    "layers-4",
    "gelu",
    "separate-vocabularies",
    "equals-sign",
)


def made(count: int = 60) -> Runs:
    return Runs.of(transformers(count), "made")


def legend_of(figure: Figure) -> list[str]:
    names = [legend_name(mark) for panel in figure.panels for mark in panel.marks]
    return [name for name in dict.fromkeys(names) if name]


def test_every_run_is_drawn_in_its_kind() -> None:
    runs = made()
    figure = rates_figure(
        [("one", by_circularity(runs), transitions(runs)), ("two", by_verdict(runs), {})]
    )
    counts = [sum(len(mark.x) for mark in marks_of(panel, Points)) for panel in figure.panels]
    verdicts = sum(map(len, by_verdict(runs).values()))
    assert counts == [60, 60, verdicts, verdicts]
    assert legend_of(figure) == [
        "not circular",
        "circular",
        "limit of the phase",
        "transition (logistic)",
        "its 95% interval",
        "Pizza",
        "hybrid",
        "Clock",
    ]


def test_metrics_are_drawn_against_each_other_by_population() -> None:
    figure = metrics_figure({"one": made(), "two": made()})
    assert legend_of(figure) == [
        "one",
        "two",
        "circular",
        "not circular (pale)",
        "symmetricity 98%",
        "irrelevance 0.4",
    ]
    assert figure.panels[1].title == "close to 1"


def test_circularity_of_two_tables_is_the_lower_one() -> None:
    runs = linear(5, 0, irrelevance=0.5, circular=0.5, model="alpha-prime")
    runs["operand_circularity"] = [[0.9, 0.8], [0.7, 0.99], [1.0, 1.0], None, []]
    worst = worst_circularity(Runs.of(runs, "made"))
    numpy.testing.assert_array_equal(worst, [0.8, 0.7, 1.0, numpy.nan, numpy.nan])
    figure = linear_figure({"alpha'": Runs.of(runs, "made"), "again": Runs.of(runs, "made")})
    assert [panel.title for panel in figure.panels[:2]] == ["Model alpha'", "Model again"]
    (bars,) = marks_of(figure.panels[2], Bars)
    assert bars.lengths.sum() == 5


@pytest.mark.slow
def test_each_item_is_made_twice_the_same(tmp_path: Path) -> None:
    gallery = tmp_path / "gallery"
    for seed, space in enumerate(SPACES):
        write_transformers(gallery, space, 120, seed)
    write_linear(gallery, AS_TOLD, 40)
    labels = [
        "metricvs",
        "onelayer",
        "variouswidth",
        "noncirc2",
        "multilayers",
        "lineararchs",
        "gelu",
        "diff-vocab",
        "eqn-sign",
    ]
    outs = [tmp_path / "first", tmp_path / "second"]
    for out in outs:
        made = make(find_items(labels), Sources(gallery), out)
        assert [item.problem for item in made] == [None] * len(labels)
    names = sorted(path.name for path in outs[0].iterdir())
    assert {f"{label}.{kind}" for label in labels for kind in ("png", "svg", "md", "json")} <= set(
        names
    )
    for name in names:
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes(), name
