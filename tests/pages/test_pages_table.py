import pytest
from report_pages import ATTACK, Parsed

from algophase.pages.table import Link, Table, text_line


def test_words_line_up_on_the_left_and_numbers_on_the_right() -> None:
    rows = [["a", 1, ""], ["longer", 20, "note"]]
    table = Table(["name", "value", ""], rows, numbers=(1,))
    assert table.lines() == ["name    value", "a           1", "longer     20  note"]
    assert table.lines(indent=4) == [f"    {line}" for line in table.lines()]
    assert table.text(indent=2).splitlines() == table.lines(indent=2)


def test_a_head_may_be_wider_than_its_cells_or_stand_alone() -> None:
    assert Table(["verdict", "n"], [["x", "10"]], numbers=(1,)).lines() == [
        "verdict   n",
        "x        10",
    ]
    assert Table(["verdict", "n"], []).lines() == ["verdict  n"]


def test_every_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Table(["a", "b"], [["1"]]).lines()


def test_a_line_of_fixed_widths_makes_room_for_a_long_cell() -> None:
    widths = (4, 5)
    assert text_line(["a", "1"], widths, numbers=(1,), gap=" ") == "a        1"
    assert text_line(["longer", "1"], widths, numbers=(1,), gap=" ") == "longer     1"


def test_html_has_the_rows() -> None:
    table = Table(["name", "value"], [["a", 1]], numbers=(1,))
    head = '<thead><tr><th>name</th><th class="number">value</th></tr></thead>'
    body = '<tbody><tr><td>a</td><td class="number">1</td></tr></tbody>'
    assert table.html() == f"<table>{head}{body}</table>"


def test_a_labeled_table_is_a_region_that_a_screen_reader_can_name() -> None:
    page = Parsed(f"<body>{Table(['name'], [['a']]).html('Names')}</body>")
    attributes = dict(page.tags)
    assert attributes["div"] == {
        "class": "table",
        "tabindex": "0",
        "role": "region",
        "aria-label": "Names",
    }
    assert attributes["th"] == {"scope": "col"}


def test_html_escapes_every_cell() -> None:
    table = Table([ATTACK, "b"], [[ATTACK, Link("a", ATTACK)]], numbers=(1,))
    page = Parsed(f"<body>{table.html(ATTACK)}</body>")
    assert page.count("script") == page.count("img") == 0
    assert page.texts["td"] == [ATTACK, ATTACK]
    assert page.texts["a"] == [ATTACK]


def test_markdown_escapes_the_bars_of_a_cell() -> None:
    table = Table(["a", "b"], [["1", "x|y"]])
    assert table.markdown() == "| a | b |\n| --- | --- |\n| 1 | x\\|y |"
    assert table.markdown(rule="---").splitlines()[1] == "|---|---|"


def test_a_link_is_its_label_in_text() -> None:
    assert Table(["network"], [[Link("network-1", "clock")]]).lines() == ["network", "clock"]
