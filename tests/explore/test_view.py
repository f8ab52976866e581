import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algophase.core.errors import InputError
from algophase.explore.view import (
    MOST_CORNERS,
    MOST_FILTERS,
    SCALES,
    View,
    checked_condition,
    decode,
    encode,
    region_of,
)
from algophase.runs.selection import OPERATORS, Condition

IDS = st.text("0123456789abcdef", min_size=12, max_size=12)
NAMES = st.text(min_size=1, max_size=30).filter(lambda text: text.isprintable())
COLUMNS = st.from_regex(r"[^\s=!<>\x00-\x1f\x7f]{1,20}", fullmatch=True).filter(str.isprintable)
VALUES = st.text(max_size=30).filter(
    lambda text: not any(ord(c) < 32 or ord(c) == 127 for c in text)
)
CONDITIONS = st.builds(Condition, COLUMNS, st.sampled_from(list(OPERATORS)), VALUES)
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: float(f"{value:.6g}"))
CORNERS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=MOST_CORNERS).map(tuple)
OFF = st.sets(st.integers(0, 500), max_size=20)


@st.composite
def views(draw: st.DrawFn) -> View:
    filters = tuple(dict.fromkeys(draw(st.lists(CONDITIONS, max_size=4))))
    x, y, color = (draw(st.just("") | NAMES) for _ in range(3))
    x_scale, y_scale = (draw(st.sampled_from(["", *SCALES])) for _ in range(2))
    view = View(filters, x, y, color, draw(st.just(()) | CORNERS), x_scale=x_scale, y_scale=y_scale)
    view = view.with_network("run", draw(st.just("") | IDS), draw(OFF))
    return view.with_network("pin", draw(st.just("") | IDS), draw(OFF))


@given(views())
def test_an_address_gives_back_its_view(view: View) -> None:
    back = decode(encode(view))
    assert back == view
    assert back.problems == ()


@given(st.text(max_size=300))
def test_any_address_is_read_and_what_is_read_is_stable(search: str) -> None:
    view = decode(search)
    back = decode(encode(view))
    assert back == view
    assert back.problems == ()


def test_a_view_with_nothing_chosen_has_no_query() -> None:
    assert encode(View()) == ""
    assert decode("") == decode(None) == decode("?") == View()
    assert decode(None).problems == ()


def test_an_address_can_be_read_by_people() -> None:
    view = View(
        (Condition("attention_rate", "<", "0.5"),), x="width", run="58ae40340899", off=(0, 17)
    )
    assert encode(view) == "?where=attention_rate<0.5&x=width&run=58ae40340899&off=0,17"


@pytest.mark.parametrize(
    ("search", "problem"),
    [
        ("?where=attention_rate", "condition is 'attention_rate'; write COLUMN"),
        (f"?where=a%3D{'x' * 300}", "condition has 302 characters"),
        (
            "?run=../../etc/passwd",
            "run is '../../etc/passwd'; an id has letters, digits, dots, dashes and underscores",
        ),
        (
            "?run=<script>alert(1)</script>",
            "an id has letters, digits, dots, dashes and underscores",
        ),
        ("?x-scale=cubic", "x-scale is 'cubic'; choose one of linear, log"),
        ("?region=1,2,3", "is not 2 to 60 points"),
        ("?region=nan,1,2,3", "is not 2 to 60 points"),
        ("?region=a,b,c,d", "is not 2 to 60 points"),
        ("?region=" + ",".join(["1"] * 400), "is not 2 to 60 points"),
        ("?run=58ae40340899&off=x", "are not frequencies"),
        (
            "?" + "&".join(f"where=a%3D{i}" for i in range(MOST_FILTERS + 1)),
            "21 filters are asked for",
        ),
        ("?" + "&".join(["where=a%3D1"] * 5000), "holds too many settings"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_told(search: str, problem: str) -> None:
    view = decode(search)
    assert len(view.problems) == 1
    assert problem in view.problems[0]
    back = decode(encode(view))
    assert back == view
    assert back.problems == ()


def test_a_condition_has_no_control_characters() -> None:
    assert checked_condition("verdict=a\x00b") == Condition("verdict", "=", "a b")
    with pytest.raises(InputError, match="at most 200"):
        checked_condition("a=" + "x" * 300)


def test_pinning_moves_the_run_with_its_circles() -> None:
    view = View(run="58ae40340899", off=(17,))
    assert view.pinned() == View(pin="58ae40340899", pin_off=(17,))
    assert view.with_network("run", "", (17,)) == View()


def test_regions_come_from_boxes_and_lassos() -> None:
    assert region_of({"box": [0.9, 0.5, 0.1, 0.7]}) == ((0.1, 0.5), (0.9, 0.7))
    assert region_of({"lasso": [[0, 0], [1, 0], [0, 1]]}) == ((0, 0), (1, 0), (0, 1))
    many = [[math.cos(i), math.sin(i)] for i in range(1000)]
    assert 30 <= len(region_of({"lasso": many})) <= MOST_CORNERS
    nonsenses: tuple[object, ...] = (
        None,
        3,
        [],
        {},
        {"box": [1, 2]},
        {"box": "abcd"},
        {"lasso": [[1, 2]]},
        {"box": [1, 2, 3, math.inf]},
    )
    for nonsense in nonsenses:
        assert region_of(nonsense) == ()
