"""How much of an ensemble a call takes on: planned for a GPU, on any machine."""

import contextlib
import math
import time

import pytest
import torch

from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings, TransformerSettings
from algophase.sweeps._budget import Trial, can_be_cut, first_of, fitting, time_is_up
from algophase.training.engines.sizing import cost
from algophase.training.run.plan import PlannedEnsemble


def group(
    count: int, device: str = "cuda", engine: str = "fused", width: int = 128
) -> PlannedEnsemble:
    runs = tuple(
        RunSettings(network=TransformerSettings(width), seed=seed) for seed in range(count)
    )
    return PlannedEnsemble(tuple(range(count)), runs, engine, torch.device(device), "half")


def progress(epoch: int, epochs: int = 1000) -> Progress:
    return Progress(share=epoch / epochs, epoch=epoch, epochs=epochs)


def watched(
    seconds_an_epoch: float, deadline: float, epochs: list[int], of: PlannedEnsemble
) -> int | None:
    """How many would end in time, if the trial cuts. Until epoch 1 it takes 5 s longer: kernels
    are compiled.
    """
    clock = [0.0]
    trial = Trial(of, deadline, lambda: clock[0])
    with contextlib.suppress(Stopped):
        for epoch in epochs:
            clock[0] = 5 + seconds_an_epoch * epoch
            trial(progress(epoch))
    return None if trial.fewer is None else len(trial.fewer.runs)


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
    assert not can_be_cut(group(1))
    assert watched(1.0, 505.0, epochs, group(8)) is None  # one block
    assert watched(1.0, 205.0, epochs, stacked) is None  # too small a part to be worth it
    assert not can_be_cut(group(200, "cpu", "grid"))
    assert watched(1.0, 505.0, epochs[20:], group(200)) is None


def test_what_is_nearly_done_when_time_is_up_is_finished() -> None:
    assert time_is_up(progress(994), 0.0)
    assert not time_is_up(progress(995), 0.0)
    assert not time_is_up(progress(500), math.inf)
    assert not time_is_up(progress(500), None)


def test_once_something_is_done_its_speed_is_known() -> None:
    deadline = time.monotonic() + 1000
    work = sum(map(cost, group(200).runs))
    assert fitting(group(200), 500 / work, deadline) == group(200)
    part = fitting(group(200), 2000 / work, deadline)
    assert part is not None
    assert len(part.runs) == 88  # of 25 blocks eleven and a half would end
    assert fitting(group(200), 1e6 / work, deadline) is None
    on_cpu = group(200, "cpu", "grid")
    assert fitting(on_cpu, 1e6, deadline) == on_cpu


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
    assert fitting(group(3), None, None) == group(3)
    assert fitting(group(3), None, 0.0) is None
