"""Rules: every kind can come out each way, and a value within rounding of a line lies on it."""

import pytest

from algophase.networks.handmade import handmade_pizza
from algophase.paper.published import number
from algophase.paper.rules import (
    APPROXIMATES,
    MOST,
    OTHER_NETWORK,
    all_of,
    apart,
    approximated,
    decided,
    for_each,
    judged,
    measured,
    points,
    share_claim,
    some_claim,
    spread_of,
    statement,
)
from algophase.paper.sources import Exhibit
from algophase.runs.boundary import Estimate
from algophase.runs.statistics import Share, newcombe

ROUNDED = 1e-12  # by which processors may differ


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        (True, "supported"),
        (False, "not supported"),
        ("undecided", "undecided"),
        (None, "not tested"),
    ],
)
def test_a_statement_is_judged_by_whether_its_rule_holds(holds: bool | None, verdict: str) -> None:
    claim = statement("text", holds, "ours", "note", published="theirs", sample=3)
    assert (claim.text, claim.published, claim.ours, claim.verdict) == (
        "text",
        "theirs",
        "ours",
        verdict,
    )
    assert (claim.sample, claim.note) == (3, "note")


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
    assert [share_claim("t", Share(count, 100), MOST, "w").verdict for count in (80, 50, 20)] == [
        "supported",
        "undecided",
        "not supported",
    ]
    assert share_claim("t", Share(0, 0), MOST, "w").verdict == "not tested"
    assert [
        some_claim("t", Share(*share), "w").verdict for share in ((1, 9), (0, 9), (0, 900), (0, 0))
    ] == [
        "supported",
        "undecided",
        "not supported",
        "not tested",
    ]


@pytest.mark.parametrize(
    ("off", "verdict"), [(ROUNDED, "supported"), (0.0, "supported"), (1e-6, "not supported")]
)
def test_a_value_within_rounding_of_a_line_reaches_it(off: float, verdict: str) -> None:
    assert approximated("t", APPROXIMATES - off, "ours").verdict == verdict
    assert for_each("t", [1.0, APPROXIMATES - off], APPROXIMATES, "{}", "r").verdict == verdict


def test_every_value_is_asked_for_and_shown_as_a_range() -> None:
    claim = for_each("t", [0.5, 0.75], 0.5, "explains {} of it", "at least half")
    assert (claim.verdict, claim.ours, claim.note) == (
        "supported",
        "explains 50.0% to 75.0% of it",
        "rule: at least half",
    )
    assert for_each("t", [], 0.5, "{}", "r") == judged("t", False, "no circle", "r")
    assert spread_of([0.5, 0.5]) == "50.0%"


def test_a_number_of_another_network_is_not_judged() -> None:
    name, network = "model-a-symmetricity", handmade_pizza(13, (1,))
    own, other = (
        Exhibit(network, "model-a", "made", published=published) for published in (True, False)
    )
    value = number(name).value
    assert measured(name, own, value, "shown").verdict == "reproduced"
    assert measured(name, own, value + 0.01, "shown").verdict == "differs"
    claim = measured(name, other, value, "shown")
    assert (claim.verdict, claim.note) == ("not tested", OTHER_NETWORK)
