import pandas
from explored_tables import made_up, text_of

from algophase.explore.layout import make_layout
from algophase.explore.network_callbacks import PANEL
from algophase.explore.view import PARTS, SIDES
from algophase.explore.visible_runs import PageData
from algophase.runs.runs import Runs


def ids(opened: PageData) -> set[str]:
    return {
        part.id
        for part in make_layout(opened)._traverse()
        if isinstance(getattr(part, "id", None), str)
    }


def test_every_part_that_a_view_fills_is_there() -> None:
    there = ids(made_up())
    assert {f"{name}-part" for name in PARTS} <= there
    for side in SIDES:
        assert {f"{side}-{place.partition('.')[0]}" for place in PANEL.values()} <= there


def test_controls_have_labels_and_menus_the_tables_columns() -> None:
    layout = make_layout(made_up())
    labels = {part.htmlFor for part in layout._traverse() if type(part).__name__ == "Label"}
    assert {
        "x",
        "y",
        "color",
        "filter-column",
        "filter-operator",
        "filter-value",
        "run-keep",
        "pin-keep",
    } <= labels
    (menu,) = [part for part in layout._traverse() if getattr(part, "id", None) == "x"]
    assert {"label": "attention rate", "value": "attention_rate"} in menu.options
    assert "circles.frequency" not in [option["value"] for option in menu.options]


def test_a_table_without_runs_says_so_and_what_is_wrong() -> None:
    empty = Runs("empty", pandas.DataFrame(), 0)
    page = text_of(make_layout(PageData(empty, ["a sweep"], ["a.parquet is broken"])))
    assert "There are no runs to draw." in page
    assert "a.parquet is broken" in page
