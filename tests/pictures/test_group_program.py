import numpy as np
import pytest

from algophase.core.palette import FORMS
from algophase.pictures.group_program import (
    CLASS_COLORS,
    MOST_CELLS,
    ByClass,
    CosetMap,
    GroupPicture,
    UsedRepresentation,
    by_class_panel,
    coset_panel,
    group_figure,
    representations_panel,
)
from algophase.pictures.marks import Bars, HeatMap, Line, Points, Rule
from algophase.pictures.to_data import hover_text, marks_of

CLASSES = dict.fromkeys(CLASS_COLORS, 1 / len(CLASS_COLORS))


def picture(remainder: float = 0.02) -> GroupPicture:
    members = [
        UsedRepresentation("standard", "adds", "Pizza", 0.6, 0.7),
        UsedRepresentation("sign", "short cycle", "short cycle", 0.1, 0.28),
        UsedRepresentation("5.1", "", "", 0.3, 0.0),
    ]
    return GroupPicture(members, CLASSES, remainder)


def test_tables_and_logits_side_by_side() -> None:
    tables, logits = marks_of(representations_panel(picture()), Bars)
    assert list(tables.lengths) == [0.6, 0.1, 0.3]
    assert list(logits.lengths) == [0.7, 0.28, 0.0]
    assert hover_text(tables, 2) == "5.1: 30.00% in the operand tables"


def test_bars_hold_instances_and_classes() -> None:
    bars = picture().bars()
    assert [part.name for part in bars["instances"]] == [
        "standard: adds",
        "sign: short cycle",
        "no instance",
    ]
    assert bars["instances"][0].color == FORMS["Pizza"][0]
    assert sum(part.share for part in bars["classes"]) == pytest.approx(1)
    assert picture(-0.1).bars()["instances"][-1].name == "instances overlap"
    _, shares = group_figure(picture(), "a network").panels
    assert len(shares.marks) == 3 + len(CLASSES)


def test_without_representations_there_is_no_empty_panel() -> None:
    nothing = GroupPicture([], CLASSES, 1.0)
    assert len(group_figure(nothing, "a network").panels) == 1


def test_elements_of_a_class_share_a_row() -> None:
    function = ByClass(np.array([2.0, 0, 1, -1]), np.array([0, 1, 1, 2]), "abcd", ["a", "b", "d"])
    panel = by_class_panel(function, "", "", "")
    points, means = marks_of(panel, Points), marks_of(panel, Line)
    assert [list(mark.x) for mark in points] == [[2.0], [1.0, 0.0], [-1.0]]
    assert [mark.x[0] for mark in means] == [2.0, 0.5, -1.0]
    assert hover_text(points[1], 0) == "u = c: 1"


def test_lines_stand_between_cosets() -> None:
    values = np.arange(36.0).reshape(6, 6)
    coset_map = CosetMap(values, np.arange(6), "abcdef", 3, "y", "v")
    panel = coset_panel(coset_map, "", "", "", 300)
    (heat_map,) = marks_of(panel, HeatMap)
    assert [(rule.x, rule.y) for rule in marks_of(panel, Rule)] == [(2.5, None), (None, 2.5)]
    assert heat_map.details is not None
    assert list(heat_map.details[1, 2]) == ["b", "c"]


def test_a_large_group_has_cells_of_several_elements() -> None:
    n = 2 * MOST_CELLS + 1
    values = np.ones((n, n))
    names = [str(number) for number in range(n)]
    panel = coset_panel(CosetMap(values, np.arange(n), names, n, "y", "v"), "", "", "", 300)
    (heat_map,) = marks_of(panel, HeatMap)
    assert heat_map.values.shape == (161, 161)
    np.testing.assert_array_equal(heat_map.values, 1)
