import math

from algophase.pages.text import accuracy_text, aligned, percent


def test_shares_have_two_decimals_and_no_minus_zero() -> None:
    assert [percent(share) for share in (0.5, -0.00001, 1)] == ["50.00%", "0.00%", "100.00%"]
    assert percent(None) == percent(math.nan) == accuracy_text(None) == "-"
    assert accuracy_text(0.99999) == "99.99%"


def test_words_line_up_on_the_left_and_numbers_on_the_right() -> None:
    lines = aligned([["name", "value", ""], ["a", "1", ""], ["longer", "20", "note"]], left=(0, 2))
    assert lines == ["  name    value", "  a           1", "  longer     20  note"]
