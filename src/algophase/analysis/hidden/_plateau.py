"""Does an estimate of the learning coefficient depend on how it was sampled?

Each of these errors is of first order in one setting, so that halving the setting halves the error,
and the error is about twice what halving changes:

    localization         keeps chains from directions that the loss bounds less tightly: the
                         estimate is too small
    inverse temperature  1 / beta is how far chains rise: where the loss is not yet what it is at
                         its bottom, the estimate is that of another landscape
    step                 a long step overshoots: the estimate is too large. With half of it, chains
                         also go half as far: burn-in that is too short shows here

An estimate is refused if one of the three changes it by more than 5%: it may then be off by more
than 10%. What no such comparison can see is an error that falls as 1 / log n, where valleys of the
loss cross.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

AS_ASKED = "as asked"
MOST_CHANGE = 0.05
MOST_REACH = 0.1  # of the 95% interval to either side, relative to the estimate


@dataclass(frozen=True)
class Dynamics:
    """What `langevin` samples with. pull: n beta."""

    pull: float
    localization: float
    step: float

    def halvings(self) -> "dict[str, Dynamics]":
        """As asked, and with half of each setting in turn."""
        dynamics = {AS_ASKED: self}
        if self.localization > 0:
            dynamics["half the localization"] = replace(self, localization=self.localization / 2)
        dynamics["half the inverse temperature"] = replace(self, pull=self.pull / 2)
        dynamics["half the step"] = replace(self, step=self.step / 2)
        return dynamics


def plateau_warnings(estimates: Mapping[str, float], interval: tuple[float, float]) -> list[str]:
    """Why not to trust an estimate: what changes it, and how uncertain it is.

    estimates: by setting, as `Dynamics.halvings` names them. interval: of the one as asked.
    """
    value = estimates[AS_ASKED]
    if len(estimates) == 1:
        return ["not compared with other settings of the sampler"]
    warnings = []
    for setting, estimate in estimates.items():
        change = estimate / value - 1 if value else math.nan
        if not abs(change) <= MOST_CHANGE:
            warnings.append(f"{setting} changes it by {change:+.0%} (at most {MOST_CHANGE:.0%})")
    reach = (interval[1] - value) / abs(value) if value else math.nan
    if not reach <= MOST_REACH:
        warnings.append(
            f"its interval reaches {reach:.0%} to either side (at most {MOST_REACH:.0%}); increase "
            "--draws or --chains"
        )
    return warnings
