"""Populations: which side of a line runs lie on, where a phase ends, and whether its boundary
over width bends.
"""

from pathlib import Path

import numpy
import pytest
from made_items import transformers, write_sweep, write_transformers

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.core.errors import InputError
from algophase.paper.populations import (
    ASYMMETRIC,
    HIGH,
    INSIDE,
    LOW,
    PHASES,
    SYMMETRIC,
    Phases,
    bend,
    bootstrap_difference,
    by_circularity,
    circles_of,
    joined,
    pizzas,
    population,
    populations,
    transition,
    transition_table,
    transitions,
)
from algophase.paper.sources import Sources
from algophase.runs.runs import Runs


def made(count: int, **how: object) -> Runs:
    return Runs.of(transformers(count, **how), "made")  # type: ignore[arg-type]


def test_sides_of_the_papers_lines_in_its_own_words() -> None:
    assert [str(side) for side in (SYMMETRIC, ASYMMETRIC, LOW, INSIDE, HIGH)] == [
        "symmetricity > 98%",
        "symmetricity <= 98%",
        "irrelevance < 0.4",
        "irrelevance < 0.6",
        "irrelevance >= 0.6",
    ]
    assert PHASES == {
        SYMMETRICITY: "gradient symmetricity > 98%",
        IRRELEVANCE: "distance irrelevance < 0.6",
    }


def test_a_run_within_rounding_of_a_line_lies_on_it_and_one_without_a_value_on_no_side() -> None:
    runs = transformers(4)
    runs[SYMMETRICITY] = [0.98 + 1e-12, 0.98 - 1e-12, 0.99, numpy.nan]
    runs[IRRELEVANCE] = [0.6 + 1e-12, 0.6 - 1e-12, 0.4 - 1e-12, numpy.nan]
    known = Runs.of(runs, "made")
    assert SYMMETRIC.of(known).tolist() == [False, False, True, False]
    assert ASYMMETRIC.of(known).tolist() == [True, True, False, False]
    assert HIGH.of(known).tolist() == [True, True, False, False]
    assert LOW.of(known).tolist() == [False] * 4
    assert str(pizzas(known)).endswith("of 4")


def test_a_population_has_both_metrics_and_what_is_asked_for(tmp_path: Path) -> None:
    write_transformers(tmp_path, "fixed-width", 20)
    write_sweep(tmp_path, "gelu", transformers(20).drop(columns="distance_irrelevance"))
    sources = Sources(tmp_path)
    assert list(populations(sources, "fixed-width", "layers-2")) == ["fixed-width"]
    with pytest.raises(
        InputError, match="the sweep of gelu has no column distance_irrelevance: make it again"
    ):
        population(sources, "gelu")
    with pytest.raises(InputError, match="the sweep of fixed-width has no column shape"):
        population(sources, "fixed-width", "shape")


def test_parts_of_a_population_are_joined_and_parted() -> None:
    runs = made(100)
    kinds = by_circularity(runs)
    assert len(kinds["circular"]) == 100 - len(kinds["not circular"]) > 0
    assert len(joined(list(kinds.values()))) == 100


def test_circles_of_each_run_are_read_together() -> None:
    runs = transformers(2)
    runs["circles.role"], runs["circles.frequency"] = [["Pizza", "Clock"], []], [[3, 5], []]
    assert circles_of(Runs.of(runs, "made"), "role", "frequency") == [
        [("Pizza", 3), ("Clock", 5)],
        [],
    ]


def test_transitions_are_observed_missing_or_undecided() -> None:
    clear, never, few = (
        transitions(made(count, at=at)) for count, at in ((400, 0.55), (400, 2.0), (6, 0.55))
    )
    assert clear[SYMMETRICITY].rate == pytest.approx(0.55, abs=0.05)
    holds = [found[SYMMETRICITY].observed(clear=True) for found in (clear, never, few)]
    assert holds == [True, False, "undecided"]
    measurement = transition(Phases(made(6), clear), IRRELEVANCE)
    assert (measurement.sample, measurement.words["phase"]) == (400, "distance irrelevance < 0.6")
    assert Phases(made(6), never).rates == []
    table = transition_table({"clear": clear, "never": never})
    assert [row[0] for row in table.rows] == ["clear", "clear", "never", "never"]
    assert table.rows[2][3:] == ("-", "-", "-")


def test_a_difference_of_medians_has_an_interval() -> None:
    draw = numpy.random.default_rng(0)
    found = bootstrap_difference(draw.normal(1, 0.1, 200), draw.normal(0, 0.1, 200))
    assert found is not None
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]
    assert found.value == pytest.approx(1, abs=0.05)
    assert bootstrap_difference(numpy.empty(0), numpy.ones(3)) is None


def test_a_bend_needs_a_boundary_and_widths() -> None:
    assert bend(made(100), SYMMETRICITY) is None
    assert bend(made(100, widths=True, at=2.0), IRRELEVANCE) is None
    straight, bent = (
        bend(made(800, widths=True, per_doubling=0.05, bend=by), IRRELEVANCE) for by in (0.0, 0.09)
    )
    assert straight is not None
    assert bent is not None
    assert straight.largest.value < 0.05 < bent.largest.value
    assert bent.p < 1e-6
