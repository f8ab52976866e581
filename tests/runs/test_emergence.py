"""What arrives first along training, on made-up moments whose answer is known."""

from collections.abc import Sequence

import numpy
import pandas
import pytest

from algophase.core.errors import InputError
from algophase.runs.emergence import arrivals, emergence

EPOCHS = (10, 20, 30, 40)


def moments(**values: Sequence[Sequence[float]]) -> pandas.DataFrame:
    """values: of each column, a list over runs of lists over epochs."""
    runs = len(next(iter(values.values())))
    frame = pandas.DataFrame(
        [{"run_id": f"r{run}", "epoch": epoch} for run in range(runs) for epoch in EPOCHS]
    )
    for name, rows in values.items():
        frame[name] = [value for row in rows for value in row]
    return frame.sample(frac=1, random_state=0)  # in any order


def test_a_quantity_arrives_when_it_stays() -> None:
    seen = moments(x=[[0.5, 1, 1, 1], [1, 0.5, 1, 0.99], [0, 0, 0, 0.98], [1, 1, 1, 1]])
    assert arrivals(seen, "x").tolist() == [20, 30, numpy.inf, 10]
    assert arrivals(seen, "x", line=0.5).tolist() == [10, 10, 40, 10]


def test_the_lead_is_counted_over_runs_in_which_both_arrive() -> None:
    early, late, never = [0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]
    found = emergence(
        moments(
            held_out_answers=[early, early, late, early],
            validation_accuracy=[late, early, early, never],
        )
    )
    assert (found.earlier.count, found.later.count, found.earlier.total, found.open) == (1, 1, 3, 1)
    assert found.lead.value == 0
    assert found.lead.interval == (-20, 20)
    assert found.arrived == (20, 20)
    assert str(found).startswith(
        "median epoch 20 and 20, 0 epochs earlier [-20, 20]; earlier in 33.3%"
    )


def test_always_earlier() -> None:
    early, late = [0, 1, 1, 1], [0, 0, 0, 1]
    found = emergence(moments(x=[early] * 5, y=[late] * 5), "x", "y")
    assert (found.lead.value, found.lead.interval) == (20, (20, 20))
    assert found.earlier.count == 5


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="no column y"):
        emergence(moments(x=[[1, 1, 1, 1]]), "x", "y")
    with pytest.raises(InputError, match="both x and y"):
        emergence(moments(x=[[1, 1, 1, 1]], y=[[0, 0, 0, 0]]), "x", "y")
