import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from algophase.core.errors import InputError
from algophase.core.seeding import generator
from algophase.sweeps.distributions import (
    Choice,
    Distribution,
    Fixed,
    Grid,
    Uniform,
    read_distribution,
)

GOOD: list[tuple[object, Distribution]] = [
    (3, Fixed(3)),
    (0.5, Fixed(0.5)),
    ("gelu", Fixed("gelu")),
    (True, Fixed(True)),
    ({"uniform": [0, 1]}, Uniform(0.0, 1.0)),
    ({"uniform": [2, 9], "integer": True}, Uniform(2.0, 9.0, integer=True)),
    ({"log_uniform": [1e-4, 1e-2]}, Uniform(1e-4, 1e-2, logarithmic=True)),
    (
        {"log_uniform": [32, 512], "integer": True},
        Uniform(32.0, 512.0, integer=True, logarithmic=True),
    ),
    ({"choice": ["relu", "gelu"]}, Choice(("relu", "gelu"))),
    ({"choice": [1, True]}, Choice((1, True))),  # equal in Python, two values in a file
    ({"grid": [1, 2, 4]}, Grid((1, 2, 4))),
]


@pytest.mark.parametrize(("data", "rule"), GOOD, ids=str)
def test_reads_and_writes_plain_data(data: object, rule: Distribution) -> None:
    assert read_distribution("x", data) == rule
    assert rule.to_data() == data
    assert read_distribution("x", rule.to_data()) == rule


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "width is None; it must be a value, {uniform"),
        ([1, 2], r"width is \[1, 2\]; it must be a value"),
        ({}, "width is {}; it must be a value"),
        ({"uniform": [0, 1], "grid": [1]}, "it must be a value"),
        ({"integer": True}, "it must be a value"),
        ({"uniform": [0, 1], "integer": "yes"}, "it must be a value"),
        ({"normal": [0, 1]}, "width has no form 'normal'; it must be a value"),
        ({"grid": []}, r"grid of width is \[\]; it must be a list of values"),
        ({"choice": "relu"}, "choice of width is 'relu'; it must be a list of values"),
        (
            {"grid": [[1]]},
            r"grid of width holds \[1\]; its values must be numbers, text, true or false",
        ),
        ({"grid": [1, 2, 1]}, r"grid of width is \[1, 2, 1\]; it names a value twice"),
        (
            {"choice": [1, 2], "integer": True},
            "integer goes with uniform and log_uniform; write integers into the choice",
        ),
        ({"uniform": [0]}, r"uniform of width is \[0\]; it must be two numbers"),
        ({"uniform": [0, True]}, "it must be two numbers"),
        ({"uniform": [0, "1"]}, "it must be two numbers"),
        ({"uniform": [1, 1]}, "low must be below high, and both finite"),
        ({"uniform": [2, 1]}, "low must be below high"),
        ({"uniform": [0, math.inf]}, "both finite"),
        ({"uniform": [math.nan, 1]}, "both finite"),
        ({"log_uniform": [0, 1]}, r"log_uniform of width is \[0, 1\]; low must be above 0"),
        (
            {"uniform": [8, 10**400]},
            r"uniform of width is \[8, 10{60,}\.\.\.; low must be below high, and both finite, "
            r"at most 1.8e308",
        ),
        ({"uniform": [-(10**400), 8], "integer": True}, "both finite"),
        (
            {"uniform": [0, 1e30], "integer": True},
            "with integer = true both ends must be at most 9,007,199,254,740,992",
        ),
        ({"uniform": [0.5, 2], "integer": True}, "with integer = true both ends must be integers"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_named(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_distribution("width", data)


@given(
    st.integers(0, 2**32), st.sampled_from([rule for _, rule in GOOD if not isinstance(rule, Grid)])
)
def test_a_draw_is_within_the_extremes_and_a_plain_value(
    seed: int, rule: Fixed | Uniform | Choice
) -> None:
    value = rule.draw(generator(seed))
    assert type(value) in (int, float, str, bool)
    if isinstance(rule, Uniform):
        assert isinstance(value, int if rule.integer else float)
        assert rule.low <= float(value) <= rule.high
    else:
        assert value in rule.extremes()


def test_a_uniform_integer_takes_both_ends_and_each_as_often() -> None:
    stream = generator(0, "uniform")
    counts = Counter(Uniform(2, 5, integer=True).draw(stream) for _ in range(4000))
    assert sorted(counts, key=float) == [2, 3, 4, 5]
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 0.01


def test_a_choice_takes_each_value_as_often() -> None:
    stream = generator(0, "choice")
    counts = Counter(Choice(("a", "b", "c")).draw(stream) for _ in range(3000))
    assert scipy.stats.chisquare([counts[name] for name in "abc"]).pvalue > 0.01


def test_a_log_uniform_is_uniform_in_the_logarithm() -> None:
    stream = generator(0, "log")
    values = np.array(
        [Uniform(1e-4, 1e-1, logarithmic=True).draw(stream) for _ in range(2000)], float
    )
    assert scipy.stats.kstest(np.log10(values), scipy.stats.uniform(-4, 3).cdf).pvalue > 0.01
