"""Nested records as columns of a row, and their parts back."""

import pytest

from algophase.record.columns import as_items, flat_columns, items_of, part_of


def test_nested_records_become_flat_columns() -> None:
    record = {
        "accuracy": 1.0,
        "reasons": ["a", "b"],
        "nothing": [],
        "unknown": None,
        "circles": [{"frequency": 3, "role": "Pizza"}, {"frequency": 5, "offset": {"x": 1}}],
        "anatomy": {
            "relu": None,
            "pizzas": [
                {"rows": 4, "readouts": [{"axis": "cos"}, {"axis": "sin"}]},
                {"rows": 2, "readouts": []},
            ],
        },
    }
    assert flat_columns(record) == {
        "accuracy": 1.0,
        "reasons": ["a", "b"],
        "unknown": None,
        "circles.frequency": [3, 5],
        "circles.role": ["Pizza", None],
        "circles.offset.x": [None, 1],
        "anatomy.relu": None,
        "anatomy.pizzas.rows": [4, 2],
        "anatomy.pizzas.readouts.axis": [["cos", "sin"], None],
    }


def test_parts_come_back_from_their_columns() -> None:
    circles = [{"frequency": 3, "role": "Pizza"}, {"frequency": 5, "role": None}]
    record = {"program": {"norm": 2.5, "keys": [3, 5], "rest": None}, "circles": circles}
    row = {"circle": 1, **flat_columns(record)}
    assert part_of(row, "program") == {"norm": 2.5, "keys": [3, 5]}  # null is as good as absent
    assert items_of(row, "circles") == circles
    assert items_of({**row, "circles.offset": None}, "circles") == circles
    assert items_of(row, "instances") == []


def test_columns_of_one_list_have_one_length() -> None:
    with pytest.raises(ValueError, match="shorter"):
        as_items({"frequency": [3, 5], "role": ["Pizza"]})
