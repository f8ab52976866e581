"""Numbers that are on their way, and coroutines that wait for theirs together."""

from collections.abc import Iterator

import pytest
import torch

from algophase.analysis import _pending as pending
from algophase.analysis._pending import Pending, both, pack, run_now, run_overlapped
from algophase.core.errors import InputError

CPU = torch.device("cpu")
A_GPU = torch.device("meta")  # what is no CPU has several under way


def number(value: float) -> Pending[float]:
    return Pending(pack({"value": torch.tensor(value)}), lambda numbers: float(numbers["value"]))


def test_named_tensors_come_back_in_their_shapes() -> None:
    tensors = {"scalar": torch.tensor(3), "empty": torch.zeros(0, 2), "table": torch.eye(2)}
    arrays = Pending(pack(tensors), dict).get()
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "scalar": 3.0,
        "empty": [],
        "table": [[1.0, 0.0], [0.0, 1.0]],
    }
    assert Pending(pack({}), dict).get() == {}


def test_one_wait_gives_two_values() -> None:
    async def total() -> float:
        first, second = await both(number(1.0), number(2.0))
        return first + second

    coroutine = total()
    coroutine.send(None)
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert stopped.value.value == 3.0
    assert run_now(total()) == 3.0


@pytest.mark.parametrize("device", [CPU, A_GPU])
def test_results_come_in_the_order_given_however_often_each_waits(device: torch.device) -> None:
    async def waiting(value: int, waits: int) -> int:
        for _ in range(waits):
            assert await number(value) == value
        return value

    analyses = [waiting(value, waits=(7 * value) % 5) for value in range(40)]
    assert list(run_overlapped(analyses, device)) == list(range(40))


def test_an_error_takes_its_place_and_the_others_go_on() -> None:
    async def fragile(value: int) -> int:
        if value == 1:
            raise InputError("at once")
        await number(value)
        if value == 3:
            raise InputError("after a wait")
        return value

    for device in (CPU, A_GPU):
        results = list(run_overlapped(map(fragile, range(5)), device))
        assert [str(result) for result in results] == ["0", "at once", "2", "after a wait", "4"]


def test_what_is_no_bad_input_stops_everything() -> None:
    async def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(run_overlapped([broken()], CPU))


@pytest.mark.parametrize(("device", "most"), [(CPU, 1), (A_GPU, pending.UNDER_WAY + 1)])
def test_a_few_are_under_way_on_a_gpu_and_one_on_a_cpu(device: torch.device, most: int) -> None:
    begun, finished, widest = 0, 0, 0

    async def counted() -> None:
        nonlocal begun, finished, widest
        begun += 1
        widest = max(widest, begun - finished)
        await number(0.0)
        await number(1.0)
        finished += 1

    def analyses() -> Iterator[object]:
        for _ in range(3 * pending.UNDER_WAY):
            yield counted()

    assert len(list(run_overlapped(analyses(), device))) == 3 * pending.UNDER_WAY  # type: ignore[arg-type]
    assert widest == most
