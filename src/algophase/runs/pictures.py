"""Tables of runs as the points of a picture, and the phase diagram that every caller draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.catalogue import label, line, quantity
from algophase.core.palette import in_order
from algophase.pictures.by_rate import (
    Kind,
    Network,
    as_array,
    kinds_by_verdict,
    metric_by_rate,
    transition_marks,
)
from algophase.pictures.marks import Mark, Panel
from algophase.runs.boundary import Boundary

if TYPE_CHECKING:
    import pandas


def verdict_kinds(runs: "pandas.DataFrame", x: str, y: str) -> list[Kind]:
    """Runs with both columns, by verdict."""
    measured = runs[runs[x].notna() & runs[y].notna()]
    verdicts = measured["_verdict"].to_numpy()
    names = _run_names(measured)
    columns = as_array(measured[x]), as_array(measured[y])
    return kinds_by_verdict(*columns, verdicts, in_order(verdicts), names)


def _run_names(runs: "pandas.DataFrame") -> Any:
    if "run_id" in runs:
        return runs["run_id"].to_numpy()
    return numpy.array([f"row {index}" for index in runs.index], dtype=object)


def boundary_marks(boundary: Boundary | None, **style: Any) -> list[Mark]:
    """A boundary that lies among the rates. style: of `transition_marks`."""
    if boundary is None or boundary.rate is None or not boundary.within:
        return []
    return transition_marks(boundary.rate.value, boundary.rate.interval, **style)


def rate_by_metric(
    runs: "pandas.DataFrame",
    metric: str,
    boundary: Boundary | None = None,
    networks: Sequence[Network] = (),
    **panel: Any,
) -> Panel:
    """A metric against the attention rate, colored by verdict, with the paper's line and the
    transition. panel: caption, alt and other fields of a panel.
    """
    return metric_by_rate(
        verdict_kinds(runs, "_rate", metric),
        label(metric),
        None if quantity(metric).line is None else line(metric).value,
        boundary_marks(boundary),
        networks,
        **panel,
    )
