import math

from algophase.pages.text import accuracy_text, escaped, percent


def test_shares_have_two_decimals_and_no_minus_zero() -> None:
    assert [percent(share) for share in (0.5, -0.00001, 1)] == ["50.00%", "0.00%", "100.00%"]
    assert percent(None) == percent(math.nan) == accuracy_text(None) == "-"
    assert accuracy_text(0.99999) == "99.99%"


def test_values_on_a_page_are_escaped_and_cut() -> None:
    assert escaped('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert escaped("<<<<", longest=3) == "&lt;&lt;…"
    assert len(escaped("x" * 1000)) == 600
