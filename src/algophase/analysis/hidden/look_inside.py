"""What `--hidden` adds to an analysis or a sweep: geometry, neurons, heads, progress, and the
network without interactions.

With `--betti`, an analysis has Betti numbers as well.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from algophase.analysis.hidden._geometry import Geometry, geometry_of
from algophase.analysis.hidden._interactions import can_lose_interactions, without_interactions
from algophase.analysis.hidden._neurons import Neurons, neurons_of
from algophase.analysis.hidden.group_units import GroupUnits, group_units_of
from algophase.analysis.hidden.heads import AttentionHeads, attention_heads_of, has_heads
from algophase.analysis.hidden.progress_measures import ProgressMeasures, progress_measures_of
from algophase.analysis.hidden.topology import LINE, ClusterBetti, betti_numbers
from algophase.analysis.operation import on_its_group
from algophase.analysis.record import record_of
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.pages.hidden_text import BettiRow, hidden_lines
from algophase.record.columns import as_items
from algophase.record.layout import Layout, to_record

KEPT = (
    "accuracy",
    "gradient_symmetricity",
    "distance_irrelevance",
    "verdict",
    "sentence",
    "pizza_logit_share",
    "instances",
)
OF_INSTANCES = ("frequencies", "form", "share", "pizza_part")  # what a row keeps of them
HEADS = Layout.of_names("frequency", "share", "amplitude_a", "phase_a", "deviation")
SHAPES = Layout.of_names("logits_circle", "interaction_share", "aligned", "silent", "clusters")


@dataclass(frozen=True)
class HiddenLayer:
    """shapes, units: None for a network without hidden units to look at; heads: for one without
    attention.

    without: the record of its analysis without interactions, for one-layer transformers;
        `instances` there say what each circle is without them. betti: None unless asked for.
    """

    shapes: Geometry | None
    units: Neurons | None
    heads: AttentionHeads | None
    progress: ProgressMeasures
    without: dict[str, Any] | None
    betti: tuple[ClusterBetti, ...] | None = None

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "geometry": "shapes",
            "betti_numbers": "betti",
            "neurons": "units",
            "attention_heads": "heads",
            "progress_measures": "progress",
            "without_interactions": "without",
        }
    )

    def to_dict(self) -> dict[str, Any]:
        """JSON values, null for what is undefined."""
        record: dict[str, Any] = to_record(self)
        return record

    def columns(self) -> dict[str, Any]:
        """What a row of a sweep keeps: no single unit, and nothing that every row has."""
        record: dict[str, Any] = {}
        if self.shapes is not None and self.units is not None:
            record |= SHAPES.record(self.shapes)
            record["quadrature"] = to_record(self.units.quadrature)
        if self.heads is not None:
            record["heads"] = as_items(HEADS.record(self.heads))
        if self.without is not None:
            record["without_interactions"] = {**self.without, "instances": self._kept_instances()}
        return record

    def _kept_instances(self) -> list[dict[str, Any]]:
        assert self.without is not None
        columns = {}
        for name in OF_INSTANCES:
            columns[name] = [instance[name] for instance in self.without["instances"]]
        return as_items(columns)

    def lines(self) -> list[str]:
        """As text a person reads."""
        heads = None if self.heads is None else self.heads.described()
        return hidden_lines(self.to_dict(), heads, self._betti_rows(), LINE)

    def _betti_rows(self) -> list[BettiRow]:
        rows = []
        for cluster in self.betti or ():
            shapes = {"hidden units": cluster.hidden, "logits": cluster.logits}
            for name, betti in shapes.items():
                if betti is not None:
                    persistences = betti.counted, betti.not_counted, betti.hole
                    rows.append(
                        BettiRow(cluster.frequency, name, str(betti), *persistences, betti.reason)
                    )
        return rows


Inside = HiddenLayer | GroupUnits


def look_inside(
    network: Network | Analysis, device: torch.device | str = "cpu", *, betti: bool = False
) -> Inside:
    """Everything about the first hidden layer of one network. It takes about as long as its
    analysis. On a group that is not cyclic: which representations its units read.

    network: or its analysis, where that keeps what was computed of it.
    betti: its Betti numbers as well. They need the extra `topology`, and about half a second for
        each of their rows.
    """
    subject = _subject_of(network, device)
    if not subject.group.is_cyclic:
        return group_units_of(subject)
    network = subject.given
    has_units = subject.hidden_layer is not None
    without = None
    if can_lose_interactions(subject.network):
        record = record_of(without_interactions(network, device=device))
        without = {name: record[name] for name in KEPT}
    return HiddenLayer(
        shapes=geometry_of(subject) if has_units else None,
        units=neurons_of(subject) if has_units else None,
        heads=attention_heads_of(subject) if has_heads(subject.network) else None,
        progress=progress_measures_of(subject),
        without=without,
        betti=betti_numbers(network) if has_units and betti else None,
    )


def _subject_of(network: Network | Analysis, device: torch.device | str) -> Subject:
    if not isinstance(network, Analysis):
        return Subject(on_its_group(network), device)
    if network.subject is None:
        raise InputError(
            f"the analysis of {network.id} does not keep its network: it was read from a file or a "
            "table, or made by analyze_many; give the network itself"
        )
    return network.subject
