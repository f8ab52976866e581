"""The outcome of an account and of a measure has one word, wherever it is shown."""

import math
from dataclasses import replace

import pytest

from algophase.analysis.rivals.account import Account, Measure

HIGH = Measure("units of this form", value=0.95, line=0.8)
CASES = {
    "passes": (HIGH, HIGH),
    "by chance": (replace(HIGH, by_chance=0.9), replace(HIGH, by_chance=0.85)),
    "fails": (HIGH, replace(HIGH, value=0.5, by_chance=0.9)),
    "says nothing": (replace(HIGH, line=None),),
}


@pytest.mark.parametrize(("outcome", "measures"), CASES.items())
def test_an_account_has_one_outcome(outcome: str, measures: tuple[Measure, ...]) -> None:
    account = Account("rho-sets", "Wu et al.", "units read a set of vectors", measures)
    assert account.outcome == outcome
    assert repr(account) == f"<Account rho-sets: {outcome}>"
    assert Account.LAYOUT.record(account)["outcome"] == outcome


def test_one_line_that_chance_fails_is_evidence() -> None:
    measures = (HIGH, replace(HIGH, by_chance=0.9))
    assert Account("rho-sets", "", "", measures).outcome == "passes"


def test_an_account_that_is_not_defined_says_nothing() -> None:
    account = Account("coset circuits", "", "", (HIGH,), undefined="Z59 has no proper subgroup")
    assert account.outcome == "says nothing"


@pytest.mark.parametrize(
    ("value", "by_chance", "outcome"),
    [
        (0.95, 0.1, "passes"),
        (0.95, math.nan, "passes"),
        (0.95, 0.9, "by chance"),
        (0.5, 0.9, "fails"),
        (math.nan, 0.9, "fails"),
    ],
)
def test_a_measure_has_an_outcome(value: float, by_chance: float, outcome: str) -> None:
    assert replace(HIGH, value=value, by_chance=by_chance).outcome == outcome
