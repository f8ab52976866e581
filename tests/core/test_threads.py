import os
import subprocess
import sys
import time

import pytest

from algophase.core.threads import in_processes, side_by_side

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
SAY = (
    f"import algophase, os, sys; print([os.environ.get(name) for name in {VARIABLES}], "
    "'torch' in sys.modules)"
)


@pytest.mark.parametrize(
    ("set_by_the_user", "expected"),
    [
        ({}, ["PASSIVE", None, None]),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, ["ACTIVE", None, None]),
        ({"GOMP_SPINCOUNT": "100"}, [None, "100", None]),
    ],
)
def test_openmp_waits_without_spinning_unless_the_user_chose(
    set_by_the_user: dict[str, str], expected: list[str | None]
) -> None:
    """And importing the package does not load torch."""
    environment = {
        name: value for name, value in os.environ.items() if name not in VARIABLES
    } | set_by_the_user
    said = subprocess.run(
        [sys.executable, "-c", SAY], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == f"{expected} False"


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order_and_few_wait(workers: int) -> None:
    """Each may be large: a slow reader must not find all of them finished."""
    finished: list[int] = []

    def work(item: int) -> int:
        finished.append(item)
        return item * item

    results = []
    for taken, result in enumerate(side_by_side(work, range(40), workers)):
        time.sleep(0.002)  # longer than the work takes
        results.append(result)
        assert len(finished) - taken <= 2 * workers + 1
    assert results == [item * item for item in range(40)]


def test_an_error_of_the_work_is_raised_in_its_turn() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    results = side_by_side(work, range(9), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_give_results_in_the_order_of_the_items(processes: int) -> None:
    assert list(in_processes(abs, [-3, 2, -1], processes)) == [3, 2, 1]
