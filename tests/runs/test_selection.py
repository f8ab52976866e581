from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algophase.core.errors import InputError
from algophase.runs.columns import frame_of
from algophase.runs.selection import Condition, read_condition, select

COLUMNS: dict[str, list[Any]] = {
    "index": [0, 1, 2, 3],
    "rate": [0.25, None, 1.0, 0.5],
    "width": [128, 9, 10, None],
    "flag": [True, False, None, True],
    "verdict": ["Clock", "not learned", None, "Pizza"],
    "list": [[1], None, [2], [3]],
    "nothing": [None, None, None, None],
}
TABLE = frame_of(pyarrow.table(COLUMNS))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("attention_rate<0.5", Condition("attention_rate", "<", "0.5")),
        (" a.b >=  -1e-3 ", Condition("a.b", ">=", "-1e-3")),
        ("verdict = not learned", Condition("verdict", "=", "not learned")),
        ("verdict!='a = b'", Condition("verdict", "!=", "a = b")),
        ('x=="quoted"', Condition("x", "=", "quoted")),
        ("x=a<b", Condition("x", "=", "a<b")),
    ],
)
def test_conditions_are_read(text: str, condition: Condition) -> None:
    assert read_condition(text) == condition


@pytest.mark.parametrize(
    "text", ["", "rate", "<0.5", "rate<", "rate ~ 3", "__import__('os').system('ls')", "a b=3"]
)
def test_what_is_no_condition_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"condition is .*one of = != < <= > >="):
        read_condition(text)


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        (["rate<0.5"], [0]),
        (["rate<=0.5"], [0, 3]),
        (["rate>0.5"], [2]),
        (["rate>=.5"], [2, 3]),
        (["rate=1"], [2]),
        (["rate!=1"], [0, 1, 3]),  # a missing value is not 1
        (["rate=null"], [1]),
        (["rate!=null"], [0, 2, 3]),
        (["rate<inf"], [0, 2, 3]),
        (["width>9"], [0, 2]),  # as numbers: as text 10 and 128 come before 9
        (["width=128.0"], [0]),
        (["flag=true"], [0, 3]),
        (["flag=False"], [1]),
        (["flag!=true"], [1, 2]),
        (["verdict=clock"], [0]),
        (["verdict=not learned"], [1]),
        (["verdict!=Clock"], [1, 2, 3]),
        (["verdict=null"], [2]),
        (["verdict=Cl"], []),
        (["list=null"], [1]),
        (["list!=NULL"], [0, 2, 3]),
        (["nothing=3"], []),
        (["nothing=null"], [0, 1, 2, 3]),
        (["rate>0.3", "flag=true"], [3]),
        ([], [0, 1, 2, 3]),
    ],
    ids=str,
)
def test_conditions_compare_as_the_column_does(conditions: list[str], rows: list[int]) -> None:
    assert select(TABLE, [read_condition(text) for text in conditions]).tolist() == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rat<1", "there is no column 'rat'; did you mean rate"),
        (
            "zzz=1",
            "there is no column 'zzz'; choose from index, rate, width, flag, verdict, list, "
            "nothing",
        ),
        (
            "rate<low",
            "condition is 'rate<low'; column rate holds numbers: compare it with one, or with null",
        ),
        ("rate=nan", "column rate holds numbers"),
        ("flag=1", "condition is 'flag=1'; column flag holds true and false"),
        ("flag<true", "column flag holds true and false: use = or !="),
        ("verdict<Pizza", "column verdict holds text: use = or !="),
        ("rate<null", "null has no order: use = or !="),
        ("list<null", "null has no order: use = or !="),
        (
            "list=1",
            "condition is 'list=1'; column list holds no single values: compare it with null only",
        ),
    ],
)
def test_what_cannot_be_compared_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(TABLE, [read_condition(text)])


def test_sorting_puts_what_is_missing_last_both_ways() -> None:
    assert select(TABLE, sort="rate").tolist() == [0, 3, 2, 1]
    assert select(TABLE, sort="-rate").tolist() == [2, 3, 0, 1]
    assert select(TABLE, sort="verdict").tolist() == [0, 3, 1, 2]
    assert select(TABLE, [read_condition("width>0")], "-width").tolist() == [0, 2, 1]
    with pytest.raises(InputError, match="column list holds list"):
        select(TABLE, sort="list")
    with pytest.raises(InputError, match="there is no column 'bent'"):
        select(TABLE, sort="-bent")


@given(st.text(max_size=30))
def test_any_text_selects_rows_or_is_an_input_error(text: str) -> None:
    for column in ("rate", "flag", "verdict"):
        for sign in ("=", "<", "!="):
            try:
                found = select(TABLE, [read_condition(f"{column}{sign}{text}")])
            except InputError:
                continue
            assert set(found) <= {0, 1, 2, 3}
