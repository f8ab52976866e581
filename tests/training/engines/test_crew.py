import os
import threading

import pytest
import torch

from algophase.training.engines.crew import Crew


def in_helper() -> bool:
    return threading.current_thread().name == "algophase-helper"


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_results_come_in_the_order_of_the_pieces(count: int) -> None:
    crew = Crew(count)
    for length in (0, 1, 2, 7, 40):
        pieces = [lambda place=place: place for place in range(length)]
        assert crew.run(pieces) == list(range(length))
        assert crew.run(pieces, twice=True) == list(range(length))


def test_helpers_take_part_each_with_one_torch_thread(two_threads: None) -> None:
    both = threading.Barrier(2)  # passed only where two threads work at the same time

    def piece() -> int:
        both.wait(60)
        return torch.get_num_threads() if in_helper() else 1

    assert Crew(2).run([piece, piece]) == [1, 1]
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("everywhere", [True, False])
def test_an_exception_in_a_piece_reaches_the_caller(everywhere: bool) -> None:
    both = threading.Barrier(2)

    def piece() -> None:
        both.wait(60)
        if everywhere or in_helper():
            raise ValueError("on the way")

    crew = Crew(2)
    for _ in range(3):
        with pytest.raises(ValueError, match="on the way"):
            crew.run([piece, piece])
        both.reset()
    assert crew.run([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]


def test_an_overdue_piece_is_computed_again_by_the_caller() -> None:
    taken, go_on, both = threading.Event(), threading.Event(), threading.Barrier(2)

    def piece() -> bool:
        if in_helper():
            taken.set()
            assert go_on.wait(60)
        else:
            assert taken.wait(60)  # the helper has one of the pieces and keeps it
        return in_helper()

    found = Crew(2).run([piece, piece, piece], twice=True)
    assert found == [False, False, False]
    go_on.set()
    passed = Crew(2).run(
        [lambda: both.wait(60), lambda: both.wait(60)]
    )  # by then the helper is done with its late piece
    assert sorted(passed) == [0, 1]
    assert found == [False, False, False]


def test_pieces_that_must_not_be_repeated_are_waited_for() -> None:
    taken, asked = threading.Event(), threading.Event()

    def piece() -> bool:
        if in_helper():
            taken.set()
            assert asked.wait(60)
        else:
            assert taken.wait(60)
            asked.set()
        return in_helper()

    assert sorted(Crew(2).run([piece, piece])) == [False, True]


def test_where_the_helpers_are_taken_the_caller_works_alone() -> None:
    found: list[list[bool]] = []

    def inside() -> bool:
        found.append(Crew(2).run([in_helper, in_helper]))
        return True

    assert Crew(2).run([inside, inside]) == [True, True]
    # each of the two ran its own pieces on its own thread
    assert all(pair[0] == pair[1] for pair in found)


def test_helpers_compute_in_the_callers_mode() -> None:
    both = threading.Barrier(2)

    def piece() -> tuple[bool, bool]:
        both.wait(60)
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    with torch.inference_mode():
        assert Crew(2).run([piece, piece]) == [(True, False)] * 2
    with torch.no_grad():
        assert Crew(2).run([piece, piece]) == [(False, False)] * 2


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    crew = Crew(2)
    crew.run([lambda: 1, lambda: 2])
    child = os.fork()
    if child == 0:
        both = threading.Barrier(2)
        passed = crew.run([lambda: both.wait(60), lambda: both.wait(60)])
        os._exit(0 if sorted(passed) == [0, 1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
