"""What the commands print is what they printed before the rebuilding (see guard.py)."""

import guard
import pytest


@pytest.mark.slow
def test_every_exhibit_is_analyzed_as_before() -> None:
    assert guard.compare() == []


def test_a_changed_label_or_number_is_noticed() -> None:
    before = {"verdict": "Pizza", "accuracy": 1.0, "shares": [0.5, 0.25], "text": "42.0% of 3"}
    rounded = {
        "verdict": "Pizza",
        "accuracy": 1.0 + 1e-13,
        "shares": [0.5, 0.25],
        "text": "42.0% of 3",
    }
    assert list(guard.differences(before, rounded)) == []
    for changed in (
        {"verdict": "Clock"},
        {"accuracy": 1.0 - 1e-6},
        {"shares": [0.5]},
        {"text": "42.1% of 3"},
        {"text": "of 3"},
    ):
        assert len(list(guard.differences(before, {**before, **changed}))) == 1
    assert len(list(guard.differences(before, {"verdict": "Pizza"}))) == 1
