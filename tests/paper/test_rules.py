"""Rules: every kind can come out each way, and a value within rounding of a line lies on it."""

from typing import Any

import pytest

from algophase.paper.measure import Measurement, Spread, measured
from algophase.paper.product import Entry, entry
from algophase.paper.rules import (
    APPROXIMATES,
    OTHER_NETWORK,
    RULES,
    all_of,
    apart,
    decided,
    judge,
    points,
    runs_to_decide,
)
from algophase.runs.boundary import Estimate
from algophase.runs.statistics import Share, newcombe

ROUNDED = 1e-12  # by which processors may differ


def verdict(rule: str, value: Any, line: float | str | None = None, **fields: Any) -> str:
    claim = Entry("efflc", "name", "text", rule, "formulas", "quantity", line=line, **fields)
    measurement = measured(Spread(value) if isinstance(value, list) else value, comparable=True)
    return RULES[rule](claim, measurement)[0]


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        (True, "supported"),
        (False, "not supported"),
        ("undecided", "undecided"),
        (None, "not tested"),
    ],
)
def test_a_quantity_can_say_itself_whether_it_is_so(holds: object, expected: str) -> None:
    assert verdict("holds", holds) == expected


def test_newcombe_is_the_published_example() -> None:
    """Newcombe (1998), method 10, 56/70 and 48/80: 0.0524 to 0.3339."""
    low, high = newcombe(Share(56, 70), Share(48, 80))
    assert low == pytest.approx(0.0524, abs=1e-4)
    assert high == pytest.approx(0.3339, abs=1e-4)
    found = apart(Share(56, 70), Share(48, 80))
    assert found is not None
    assert found.interval == (low, high)
    assert points(found) == "+20.00 points [+5.24, +33.39]"
    assert apart(Share(1, 2), Share(0, 0)) is None
    assert points(None) == "no runs"


@pytest.mark.parametrize(
    ("interval", "holds"),
    [
        ((0.1, 0.2), True),
        ((-0.2, -0.1), False),
        ((0.6, 0.7), False),
        ((-0.1, 0.1), "undecided"),
        ((0.4, 0.6), "undecided"),
        ((ROUNDED, 0.2), "undecided"),
        ((0.5 - ROUNDED, 0.7), False),
    ],
)
def test_an_interval_lies_within_limits_outside_or_is_undecided(
    interval: tuple[float, float], holds: object
) -> None:
    assert decided(Estimate(0.0, interval), low=0.0, high=0.5) == holds
    assert decided(Estimate(0.0, None), low=0.0) is None


def test_several_rules_hold_together() -> None:
    assert all_of([True, True]) is True
    assert all_of([True, "undecided"]) == "undecided"
    assert all_of(["undecided", False]) is False


def test_shares_are_judged_by_their_interval() -> None:
    above = [verdict("share above", Share(count, 100), "most") for count in (80, 50, 20)]
    assert above == ["supported", "undecided", "not supported"]
    below = [verdict("share below", Share(count, 100), "half") for count in (80, 50, 20)]
    assert below == ["not supported", "undecided", "supported"]
    assert verdict("share above", Share(0, 0), "most") == "not tested"
    shares = (Share(1, 9), Share(0, 9), Share(0, 900), Share(0, 0))
    assert [verdict("at least one", share) for share in shares] == [
        "supported",
        "undecided",
        "not supported",
        "not tested",
    ]


@pytest.mark.parametrize(
    ("off", "expected"), [(ROUNDED, "supported"), (0.0, "supported"), (1e-6, "not supported")]
)
def test_a_value_within_rounding_of_a_line_reaches_it(off: float, expected: str) -> None:
    assert verdict("approximates", APPROXIMATES - off) == expected
    assert verdict("at least", [1.0, APPROXIMATES - off], "approximately") == expected
    assert verdict("at most", [0.1, 0.5 + off], "half") == expected


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        ("at least", [0.5, 0.7], [0.4, 0.7]),
        ("above", [0.6, 0.7], [0.5, 0.7]),
        ("at most", [0.5, 0.2], [0.6, 0.2]),
        ("below", [0.4, 0.2], [0.5, 0.2]),
        ("first alone above", [0.6, 0.5], [0.6, 0.7]),
        ("second alone above", [0.5, 0.6], [0.6, 0.7]),
        ("first alone below", [0.4, 0.5], [0.4, 0.3]),
    ],
)
def test_every_value_lies_on_its_side(rule: str, inside: list[float], outside: list[float]) -> None:
    assert verdict(rule, inside, "half") == "supported"
    assert verdict(rule, outside, "half") == "not supported"
    if "alone" not in rule:
        assert verdict(rule, [], "half") == "not supported"
        assert verdict(rule, None, "half") == "not tested"


def test_words_and_limits() -> None:
    assert verdict("equal", ["Pizza", "Pizza"], expected="Pizza") == "supported"
    assert verdict("equal", "Clock", expected="Pizza") == "not supported"
    assert verdict("within", [32, 511], limits=(32, 512)) == "supported"
    assert verdict("within", [31, 511], limits=(32, 512)) == "not supported"
    assert verdict("contradicts", 1.0) == "paper contradicts itself"
    assert verdict("contradicts", None) == "not tested"
    assert [verdict("all equal", same) for same in (True, False)] == ["reproduced", "differs"]


def test_intervals_of_a_difference() -> None:
    positive, negative, both = (
        Estimate(0.0, interval) for interval in ((0.1, 0.2), (-0.2, -0.1), (-0.05, 0.05))
    )
    expected = ["supported", "not supported", "undecided"]
    differences = (positive, negative, both)
    assert [verdict("interval above zero", value) for value in differences] == expected
    assert verdict("interval below", positive, 0.3) == "supported"
    assert verdict("interval around zero", both, 0.1) == "supported"
    assert verdict("interval around zero", positive, 0.05) == "not supported"
    assert verdict("interval around zero", False, 0.05) == "not supported"
    assert verdict("interval around zero", None, 0.05) == "not tested"


def test_values_are_shown_as_a_range() -> None:
    assert f"{Spread((0.5, 0.75)):.1%}" == "50.0% to 75.0%"
    assert f"{Spread((0.5, 0.5)):.1%}" == "50.0%"
    assert f"{Spread(()):.1%}" == "no circle"


def test_a_number_of_another_network_is_not_judged() -> None:
    claim = entry("model-a-symmetricity")
    assert claim.value is not None
    assert verdict_of(claim, measured(claim.value, comparable=True)) == ("reproduced", "")
    assert verdict_of(claim, measured(claim.value + 0.01, comparable=True)) == ("differs", "")
    other = verdict_of(claim, measured(claim.value, comparable=False))
    assert other == ("not tested", OTHER_NETWORK)


def test_a_circle_may_be_walked_the_other_way() -> None:
    claim = entry("isolation-3-frequency")  # 44
    same = verdict_of(claim, measured(15, comparable=True, modulus=59))
    assert same == ("reproduced", "44 = 59 - 15: the same circle")
    assert verdict_of(claim, measured(14, comparable=True, modulus=59))[0] == "differs"
    assert verdict_of(claim, measured(44, comparable=False, modulus=59))[0] == "not tested"


def verdict_of(claim: Entry, measurement: Measurement) -> tuple[str, str]:
    return RULES[claim.rule](claim, measurement)


@pytest.mark.parametrize(
    ("share", "low", "high"), [(0.53, 0.5, 1.1), (0.47, 0.5, 1.1), (0.2, 0, 0.25)]
)
def test_so_many_runs_decide(share: float, low: float, high: float) -> None:
    """Wilson's interval of that many runs with the same share decides; that of half does not."""

    def measured_on(runs: int) -> Estimate:
        some = Share(round(share * runs), runs)
        return Estimate(some.value, some.interval)

    assert decided(measured_on(100), low, high) == "undecided"
    needed = runs_to_decide(measured_on(100), 100, low, high)
    assert needed is not None
    assert decided(measured_on(int(1.1 * needed)), low, high) == (share > low)
    assert decided(measured_on(needed // 2), low, high) == "undecided"


def test_no_number_of_runs_decides_on_a_limit() -> None:
    assert runs_to_decide(Estimate(0.5, (0.4, 0.6)), 100, low=0.5) is None
    assert runs_to_decide(Estimate(0.5, None), 100, low=0.4) is None
    assert runs_to_decide(None, 0, low=0.4) is None


def test_an_undecided_claim_says_what_would_decide_it() -> None:
    def note(**fields: Any) -> str:
        claim = Entry("efflc", "name", "text", "share above", "formulas", "quantity", **fields)
        return judge(claim, measured(Share(53, 100))).note

    assert note(line=0.5).endswith(
        "; about 1,100 runs would decide it, if the number stays where it is"
    )
    assert note(line=0.5, no_more_runs="all are there").endswith(
        "; no further runs can decide it: all are there"
    )
    assert "would decide" not in note(line=0.3)
