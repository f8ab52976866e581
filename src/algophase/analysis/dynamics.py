"""The same quantities along training: every snapshot of a run analyzed as a network of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.networks import Network


@dataclass(frozen=True)
class Moment:
    """What a network was after `epoch` updates."""

    epoch: int
    analysis: Analysis

    def to_dict(self) -> dict[str, Any]:
        """The record of `algophase analyze --json`, and the epoch."""
        return {"epoch": self.epoch, **self.analysis.to_dict()}


def dynamics(
    snapshots: Mapping[int, Network],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
) -> list[Moment]:
    """Networks by epoch, such as the `snapshots` of a trained run, analyzed in the order of
    their epochs.
    """
    return [
        Moment(epoch, analyze(network, thresholds, device))
        for epoch, network in sorted(snapshots.items())
    ]
