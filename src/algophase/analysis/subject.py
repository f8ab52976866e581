"""A network under measurement: what several measurements need, computed once, on first use.

Weights carry the rounding of the precision they were stored in; the copy computes on them in
float64, so that no digit of a metric is the analysis's own rounding. Tensors are on the device of
the copy, components and circles on the CPU.
"""

from functools import cached_property

import torch
from torch import Tensor

from algophase.analysis.checks import (
    at_inference,
    check_finite_tables,
    check_network,
    check_steady,
    exact_tables,
)
from algophase.analysis.circles.find import Circle, find_circles
from algophase.analysis.circles.principal import (
    PrincipalComponents,
    principal_components,
    resolution_of,
)
from algophase.analysis.device import in_float64
from algophase.analysis.hidden.units import (
    Units,
    UnitWaves,
    on_grid,
    pending_units,
    unit_waves,
    unit_waves_in_slabs,
)
from algophase.analysis.logits.all_pairs import correct_logits, grid_logits, largest_wrong_logits
from algophase.analysis.logits.metrics import (
    circularity,
    gradient_similarities,
    irrelevance,
    paper_triples_on,
    run_all,
    sampled_symmetricity,
    similarities_fit,
)
from algophase.analysis.logits.restricted import losses_by_keys
from algophase.analysis.operation import on_its_group
from algophase.core.errors import InputError
from algophase.core.group import Group
from algophase.core.memory import FLOAT64, UNITS_SHARE, fits, require, slabs
from algophase.core.threads import one_thread
from algophase.networks import Network
from algophase.networks.ordered import ordered
from algophase.networks.pair_logits import Prepared
from algophase.networks.parts import HiddenUnits


class Subject:
    """A network under measurement, with everything computed from it.

    given: the network as the caller gave it.
    seen: the same with its numbers in the order in which they add.
    network: a copy of `seen` in float64, at inference.
    resolution: relative rounding of its weights.
    tables: the distinct operand tables (p, width), in float64 on the CPU.
    """

    def __init__(self, network: Network, device: torch.device | str = "cpu") -> None:
        check_network(network)
        network.check_finite()
        self.given = network
        with at_inference(network):
            self.shared_table = len(network.distinct_tables()) == 1  # by both operands
        self.seen = network = ordered(network)
        self.tables = exact_tables(network)
        check_finite_tables(network, self.tables)
        self.resolution = resolution_of(network)
        if network.task.finite_group.is_cyclic:
            # The logits of all pairs take this at least: refused before anything is computed. On
            # other groups they are summed up some rows at a time.
            least = FLOAT64 * network.task.modulus**3
            require(least, torch.device(device), f"network {network.id}: its logits")
        self.network: Network = in_float64(network, device)
        check_steady(self.network)

    def beside(self, network: Network) -> "Subject":
        """The same with another copy in float64, of which nothing is computed yet."""
        copy = object.__new__(Subject)
        copy.given, copy.seen, copy.tables, copy.resolution = (
            self.given,
            self.seen,
            self.tables,
            self.resolution,
        )
        copy.shared_table = self.shared_table
        copy.network = network
        return copy

    def forget_largest(self) -> None:
        """Free what is at least as large as the logits and seldom used again."""
        for name in ("similarities", "pre_activations", "unit_waves", "losses", "prepared"):
            self.__dict__.pop(name, None)

    @property
    def modulus(self) -> int:
        return self.network.task.modulus

    @property
    def group(self) -> Group:
        """The group that the network is on, whose elements its numbers are."""
        return self.network.task.finite_group

    @property
    def device(self) -> torch.device:
        return self.network.operand_tables()[0].device

    def run(self) -> None:
        """Logits, similarities and pre-activations from one pass through the network, which each
        of them would need.
        """
        if "similarities" in self.__dict__:
            return
        # Drawing the triples takes half as much as all logits: it is done before there are any.
        triples = paper_triples_on(self.modulus, self.network.operand_tables()[0].device)
        keep = similarities_fit(self.network)
        results = run_all(self.network, keep_similarities=keep, keep_units=self.units_at_once)
        if keep:
            self.similarities = results.similarities
        else:
            sampled = sampled_symmetricity(self.network, triples)
            self.symmetricities = torch.stack([sampled, results.symmetricity])
        self.__dict__.setdefault("logits", results.logits)
        if results.pre_activations is not None:
            self.__dict__.setdefault("pre_activations", results.pre_activations)

    @cached_property
    def logits(self) -> Tensor:
        """(a, b, outputs), on the device."""
        return grid_logits(self.network)

    @cached_property
    def prepared(self) -> Prepared:
        """What gives the logits of other embeddings."""
        with (
            one_thread()
        ):  # as they are computed themselves: how many there are would show in the rounding
            return self.network.pair_logits()

    @cached_property
    def correct(self) -> Tensor:
        """Logits of the right answers, (a, b)."""
        return correct_logits(self.logits)

    @cached_property
    def largest_wrong(self) -> Tensor:
        """The largest logits of other answers, (a, b)."""
        return largest_wrong_logits(self.logits)

    @cached_property
    def right(self) -> Tensor:
        """Which pairs are answered right, (a, b) booleans. A tie is not an answer."""
        return self.correct > self.largest_wrong

    @cached_property
    def irrelevances(self) -> Tensor:
        """Distance irrelevance of the right answers' logits and of the largest others, (2,)."""
        return irrelevance(torch.stack([self.correct, self.largest_wrong]), self.resolution)

    @cached_property
    def losses(self) -> Tensor:
        """Cross-entropy of every pair as it is, restricted to the key frequencies, and without
        them, (3, a, b).
        """
        return losses_by_keys(self.logits)

    @cached_property
    def mean_losses(self) -> Tensor:
        """The same over all pairs, (3,)."""
        return self.losses.mean(dim=(1, 2))

    @cached_property
    def similarities(self) -> Tensor:
        """cos(dQ_abc/dE_a, dQ_abc/dE_b) of all triples, (p, p, p)."""
        return gradient_similarities(self.network)

    @cached_property
    def symmetricities(self) -> Tensor:
        """Gradient symmetricity over the paper's triples and over all triples, (2,)."""
        triples = paper_triples_on(self.modulus, self.similarities.device)
        sampled = self.similarities[tuple(triples.T)].nanmean()
        return torch.stack([sampled, self.similarities.nanmean()])

    @cached_property
    def hidden_layer(self) -> HiddenUnits | None:
        """The network's first hidden layer, where it has one to look at."""
        return self.network.hidden_layer()

    @cached_property
    def readout(self) -> Tensor | None:
        """What each of its units writes on the p labels, (m, p); None where that is not defined."""
        layer = self.hidden_layer
        return None if layer is None or layer.readout is None else layer.readout()

    @cached_property
    def units_at_once(self) -> bool:
        """Whether the pre-activations of all pairs may be kept and transformed at once."""
        if self.hidden_layer is None:
            return False
        size = self.modulus**2 * FLOAT64 * self.hidden_layer.units
        return fits(3 * size, self.device, UNITS_SHARE)  # as they are, transformed by a, then by b

    @cached_property
    @torch.no_grad()
    def pre_activations(self) -> Tensor | None:
        """Of the first hidden layer, (p * p, m), on the device; None where there are no units to
        look at.
        """
        if self.hidden_layer is None:
            return None
        size = self.modulus**2 * FLOAT64 * self.hidden_layer.units
        require(size, self.device, f"network {self.given.id}: its hidden units on all pairs")
        return self.hidden_layer.pre_activations(*on_grid(self.network))

    @cached_property
    def unit_waves(self) -> UnitWaves | None:
        """What `units` is read from, on the device; None where there are no units to look at."""
        if self.hidden_layer is not None and not self.units_at_once:
            return self._unit_waves_in_slabs(self.hidden_layer)
        pre = self.pre_activations
        if pre is None:
            return None
        if self.device.type == "cpu":
            # They are larger than the logits, and seldom used again: then they are made again.
            self.__dict__.pop("pre_activations")
        return unit_waves(pre, self.modulus, self.readout)

    def _unit_waves_in_slabs(self, layer: HiddenUnits) -> UnitWaves:
        p = self.modulus
        first, second = self.network.operand_tables()

        def of_rows(rows: slice) -> Tensor:
            pairs = on_grid(self.network, (first[rows], second))
            return layer.pre_activations(*pairs).unflatten(0, (-1, p))

        copies = 4  # as they are, centered, and copied for products
        row_bytes = copies * p * FLOAT64 * layer.units
        parts = slabs(p, row_bytes, self.device)
        return unit_waves_in_slabs(of_rows, parts, p, self.readout)

    @cached_property
    def units(self) -> Units | None:
        """The first hidden layer's units at their own frequencies, on the CPU. An analysis sets
        them when they arrive.
        """
        waves = self.unit_waves
        return None if waves is None else pending_units(waves, self.modulus).get()

    @cached_property
    def components(self) -> PrincipalComponents:
        """Principal components of the embedding; of both tables stacked, where the operands have
        their own.
        """
        return principal_components(self.tables, self.resolution)

    @cached_property
    def components_by_operand(self) -> tuple[PrincipalComponents, ...]:
        """Of each distinct table by itself."""
        if len(self.tables) == 1:
            return (self.components,)
        return tuple(principal_components((table,), self.resolution) for table in self.tables)

    @cached_property
    def operand_circularity(self) -> tuple[float, ...]:
        """Circularity of each distinct table by itself."""
        return tuple(map(circularity, self.components_by_operand))

    @cached_property
    def circles(self) -> list[Circle]:
        return find_circles(self.components)


def subject_on_cycle(network: Network, device: torch.device | str = "cpu") -> Subject:
    """A network under measurement by waves, which only addition modulo p has."""
    check_network(network)
    subject = Subject(on_its_group(network), device)
    if not subject.group.is_cyclic:
        raise InputError(
            f"network {network.id} is on {subject.network.task.described}: this is measured for "
            "addition modulo p alone; algophase analyze --hidden says what its hidden units read"
        )
    return subject
