import pytest
from report_pages import ATTACK, made_runs

from algophase.analysis.catalogue import SYMMETRICITY, line
from algophase.core.palette import look
from algophase.pictures.by_rate import Network
from algophase.pictures.marks import Points, Rule, Span
from algophase.pictures.to_data import hover_text, marks_of
from algophase.pictures.to_plotly import draw
from algophase.runs.pictures import rate_by_metric, verdict_kinds
from algophase.runs.runs import Runs


def test_a_phase_diagram_holds_every_accurate_run_once() -> None:
    population = Runs.of(made_runs(300), "made")
    boundary = population.core.boundary(SYMMETRICITY, resamples=20)
    panel = rate_by_metric(population.accurate.frame, SYMMETRICITY, boundary)
    points = marks_of(panel, Points)
    assert sum(len(mark.x) for mark in points) == 300
    colors = {look(name)[0] for name in ("Clock", "Pizza", "non-circular")}
    assert {mark.color for mark in points} == colors
    paper, transition = marks_of(panel, Rule)
    assert paper.y == line(SYMMETRICITY).value
    assert boundary.rate is not None
    assert transition.x == boundary.rate.value
    assert len(marks_of(panel, Span)) == 1
    assert hover_text(points[0], 0).startswith("run 00")


def test_names_from_a_file_are_only_text() -> None:
    runs = Runs.of(made_runs(20).assign(run_id=ATTACK), "made").accurate.frame
    network = Network(number=1, name=ATTACK, verdict="Clock", x=0.7, y=0.5)
    panel = rate_by_metric(runs, SYMMETRICITY, networks=[network])
    assert "<script" not in draw(panel).to_json()


def test_a_run_without_one_of_the_columns_is_not_drawn() -> None:
    table = made_runs(3, attention_rate=[0.1, None, 0.3], gradient_symmetricity=[0.5, 0.5, None])
    kinds = verdict_kinds(Runs.of(table, "made").frame, "_rate", SYMMETRICITY)
    assert [kind.x.tolist() for kind in kinds] == [pytest.approx([0.1])]
