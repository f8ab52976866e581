"""What `--hidden` adds to an analysis or a sweep: geometry, neurons, heads, progress, and the
network without interactions.

With `--betti`, an analysis has Betti numbers as well.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from algophase.analysis.hidden.geometry import Geometry, geometry_of
from algophase.analysis.hidden.heads import AttentionHeads, attention_heads_of, has_heads
from algophase.analysis.hidden.interactions import can_lose_interactions, without_interactions
from algophase.analysis.hidden.neurons import Neurons, neurons_of
from algophase.analysis.hidden.progress_measures import ProgressMeasures, progress_measures_of
from algophase.analysis.hidden.topology import LINE, Betti, ClusterBetti, betti_numbers
from algophase.analysis.record import record_of
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.wording import floored
from algophase.networks import Network
from algophase.pages.text import aligned
from algophase.record.columns import as_items
from algophase.record.layout import Layout, to_record

CLUSTER_HEAD = [
    "frequency",
    "units",
    "disc",
    "torus",
    "circle",
    "logits' circle",
    "products",
    "integral's error",
]
BETTI_HEAD = ["frequency", "shape of", "Betti numbers", "counted", "not counted", "radius", ""]
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
        `instances` there say what each circle
    is without them. betti: None unless asked for.
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
        """Plain values, null for what is undefined."""
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
        said = ["", "  inside the first hidden layer:"]
        if self.shapes is None or self.units is None:
            said.append("    no hidden units to look at: transformers and linear models have them")
        else:
            said += [f"  {line}" for line in aligned(self._rows(), left=())]
            said.append(
                f"    disc {self.shapes.disc:.4f}, torus {self.shapes.torus:.4f}, products "
                f"{self.shapes.product_share:.2%} of "
                f"the variance; R² {self.units.mean_fit:.4f}, phase resultant {self.units.resultant:.4f}".replace(
                    "nan", "undefined"
                )
            )
        if self.heads is not None:
            said.append(f"    attention heads: {'; '.join(self.heads.described())}")
        if self.betti:
            said += [f"  {line}" for line in aligned(_betti_rows(self.betti), left=(1, 2, 6))]
            said.append(
                f"    a hole counts if its persistence is above {LINE:.2f}; loops of a smaller radius may be missed"
            )
        found = self.progress
        said.append(
            f"    loss {found.loss:.3g}, restricted {found.restricted_loss:.3g}, excluded {found.excluded_loss:.3g}; "
            f"Gini of the embedding {found.gini:.4f}"
        )
        if self.without is not None:
            forms = ", ".join(
                f"{each['frequencies'][0]}: {each['form']}" for each in self.without["instances"]
            )
            symmetricity = self.without["gradient_symmetricity"]
            said.append(
                f"    without interactions: accuracy {floored(self.without['accuracy'])}, gradient symmetricity "
                f"{'undefined' if symmetricity is None else f'{symmetricity:.4f}'}; {forms or 'no instance'}"
            )
        return said

    def _rows(self) -> list[list[str]]:
        assert self.shapes is not None
        assert self.units is not None
        errors = {each.frequency: f"{each.error:.3f}" for each in self.units.quadrature}
        rows = [CLUSTER_HEAD]
        for each in self.shapes.clusters:
            likeness = [
                f"{value:.4f}" for value in (each.disc, each.torus, each.circle, each.logits_circle)
            ]
            rows.append(
                [
                    str(each.frequency),
                    str(each.units),
                    *likeness,
                    f"{each.product_share:.2%}",
                    errors.get(each.frequency, "-"),
                ]
            )
        return [[cell.replace("nan", "-") for cell in row] for row in rows]


def _betti_rows(clusters: tuple[ClusterBetti, ...]) -> list[list[str]]:
    rows = [BETTI_HEAD]
    for each in clusters:
        drawn: dict[str, Betti | None] = {"hidden units": each.hidden, "logits": each.logits}
        for name, found in drawn.items():
            if found is not None:
                numbers = [
                    f"{value:.2f}" for value in (found.counted, found.not_counted, found.hole)
                ]
                rows.append([str(each.frequency), name, str(found), *numbers, found.reason])
    return [[cell.replace("nan", "-") for cell in row] for row in rows]


def look_inside(
    network: Network | Analysis, device: torch.device | str = "cpu", *, betti: bool = False
) -> HiddenLayer:
    """Everything about the first hidden layer of one network. It takes about as long as its
    analysis.

    network: or its analysis, where that keeps what was computed of it.
    betti: its Betti numbers as well. They need the extra `topology`, and about half a second for
        each of their rows.
    """
    subject = _subject_of(network, device)
    network = subject.given
    has_units = subject.hidden_layer is not None
    without = (
        record_of(without_interactions(network, device=device))
        if can_lose_interactions(subject.network)
        else None
    )
    return HiddenLayer(
        geometry_of(subject) if has_units else None,
        neurons_of(subject) if has_units else None,
        attention_heads_of(subject) if has_heads(subject.network) else None,
        progress_measures_of(subject),
        None if without is None else {name: without[name] for name in KEPT},
        betti_numbers(network) if has_units and betti else None,
    )


def _subject_of(network: Network | Analysis, device: torch.device | str) -> Subject:
    if not isinstance(network, Analysis):
        return Subject(network, device)
    if network.subject is None:
        raise InputError(
            f"the analysis of {network.id} does not keep its network: it was read from a file or a "
            "table, or made by analyze_many; give the network itself"
        )
    return network.subject
