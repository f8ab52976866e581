import math

from algophase.analysis.analyze import analyze
from algophase.analysis.catalogue import CIRCLE_QUANTITIES
from algophase.analysis.result import Analysis
from algophase.networks.handmade import handmade_pizza
from algophase.pages.network_text import (
    CIRCLE_HEAD,
    INSTANCE_HEAD,
    circle_cells,
    instance_rows,
    number,
    program_lines,
)


def pizza() -> Analysis:
    return analyze(handmade_pizza(23, (1, 5)))


def test_circles_have_the_labels_of_the_catalogue() -> None:
    labels = {quantity.name: quantity.label for quantity in CIRCLE_QUANTITIES}
    names = ("variance_share", "role", "fve_clock", "fve_pizza", "fve_accompanying")
    assert [labels[name] for name in (*names, "accuracy_alone")] == CIRCLE_HEAD
    for circle in pizza().to_dict()["circles"]:
        assert len(circle_cells(circle)) == len(CIRCLE_HEAD)
        assert circle_cells(circle)[1] == "Pizza"
        assert circle_cells({**circle, "accompanies": 3})[1] == "accompanies 3"


def test_undefined_numbers_of_a_record_are_dashes() -> None:
    instance = pizza().to_dict()["instances"][0]
    (row,) = instance_rows([{**instance, "fit": None, "accuracy_without": None}])
    assert len(row) == len(INSTANCE_HEAD)
    assert row[:2] == ["1", "Pizza"]
    assert (row[3], row[6]) == ("-", "-")
    assert math.isnan(number(None))


def test_a_program_is_three_lines_or_none_of_its_frequencies() -> None:
    program = pizza().to_dict()["program"]
    keys, shares, classes = program_lines(program)
    assert keys.startswith("2 key frequencies: ")
    assert "of the logits' norm" in shares
    assert classes.startswith("functions of a + b - c: ")
    older = {**program, "left_share": None}
    assert len(program_lines(older)) == 2
    assert len(program_lines({**program, "frequencies": []})) == 1
