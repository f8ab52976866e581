"""How much of an ensemble a sitting takes on: planned for a GPU, on any machine."""

import math
from collections import Counter

import pytest
import torch

from algophase.core.settings import RunSettings, TransformerSettings
from algophase.sweeps.budget import TooLong, first_of, fitting, time_is_up, trial
from algophase.sweeps.work import Standing
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.trained import Progress


def group(
    count: int, device: str = "cuda", engine: str = "fused", width: int = 128
) -> PlannedEnsemble:
    runs = tuple(
        RunSettings(network=TransformerSettings(width), seed=seed) for seed in range(count)
    )
    return PlannedEnsemble(tuple(range(count)), runs, engine, torch.device(device), "half")


def progress(epoch: int, epochs: int = 1000) -> Progress:
    return Progress(1, epoch, epochs, 1, 1, math.nan, math.nan, math.nan, math.nan, epoch / epochs)


def nothing_done() -> Standing:
    return Standing(200, 0, Counter(), 1.0)


def watched(
    seconds_an_epoch: float, deadline: float, epochs: list[int], of: PlannedEnsemble
) -> int | None:
    """How many would end in time, if the trial cuts. Until epoch 1 it takes 5 s longer: kernels
    are compiled.
    """
    clock = [0.0]
    watch = trial(of, nothing_done(), deadline, lambda: clock[0])
    try:
        for epoch in epochs:
            clock[0] = 5 + seconds_an_epoch * epoch
            watch(progress(epoch))
    except TooLong as late:
        return len(late.fewer.runs)
    return None


def test_an_ensemble_that_would_not_end_in_time_is_found_out_early() -> None:
    epochs = list(range(1, 1000, 7))
    stacked = group(200, engine="stacked")
    assert watched(1.0, 1100.0, epochs, stacked) is None
    assert watched(1.0, 1015.0, epochs, stacked) == pytest.approx(200 * 0.92, rel=0.06)  # too near
    assert watched(1.0, 505.0, epochs, stacked) == pytest.approx(
        200 * 0.92 * (500 - 43) / 1000, rel=0.03
    )
    assert watched(1.0, 505.0, epochs, group(200)) == 80  # of 25 blocks ten and a half would
    assert watched(1.0, 605.0, epochs, group(200)) == 96
    # What cannot be cut, or goes on from a checkpoint, is left alone: it is saved when time is up.
    assert watched(1.0, 505.0, epochs, group(1)) is None
    assert watched(1.0, 505.0, epochs, group(8)) is None  # one block
    assert watched(1.0, 205.0, epochs, stacked) is None  # too small a part to be worth it
    assert watched(1.0, 505.0, epochs, group(200, "cpu", "grid")) is None
    assert watched(1.0, 505.0, epochs[20:], group(200)) is None


def test_what_is_nearly_done_when_time_is_up_is_finished() -> None:
    assert time_is_up(progress(994), 0.0)
    assert not time_is_up(progress(995), 0.0)
    assert not time_is_up(progress(500), math.inf)
    assert not time_is_up(progress(500), None)


def test_once_something_is_done_its_speed_is_known() -> None:
    standing = nothing_done()
    standing.work = 1.0
    watch = trial(group(200), standing, 0.0, lambda: 1e9)
    for epoch in range(100):
        watch(progress(epoch))


@pytest.mark.parametrize(
    ("share", "engine", "width", "kept"),
    [
        (0.76, "fused", 128, 152),
        (0.49, "fused", 128, 96),
        (0.26, "fused", 512, 48),
        (0.76, "stacked", 128, 152),
    ],
)
def test_a_part_is_made_of_whole_blocks(share: float, engine: str, width: int, kept: int) -> None:
    part = first_of(group(200, engine=engine, width=width), share)
    assert part is not None
    assert len(part.runs) == len(part.indices) == kept
    assert first_of(group(200, engine=engine, width=width), 0.2) is None
    assert first_of(group(7), 0.99) is None  # a block takes as long however full it is


def test_without_a_deadline_everything_fits_and_after_it_nothing() -> None:
    assert fitting(group(3), nothing_done(), None) == group(3)
    assert fitting(group(3), nothing_done(), 0.0) is None
