"""A network without its code: its operand tables and all its logits, as a file keeps them; or a
function of (a, b) alone.
"""

import torch
from torch import Tensor, nn

from algophase.core.errors import InputError
from algophase.core.settings import TaskSettings, WrappedSettings
from algophase.networks.network import Cache, InitialValues, Network

NO_EMBEDDING = "it has no embedding: gradients, circles and instances are not defined"


class Recorded(Network):
    """logits: (p, p, outputs). Without tables (width 0) it is a function, and an analysis is of its
    logits alone.

    known_analysis: one that was made where the network's code was. It answers for its own tables
        and for no others.
    """

    settings: WrappedSettings
    is_pure = True
    has_code = False

    def __init__(self, task: TaskSettings, settings: WrappedSettings) -> None:
        super().__init__(task, settings)
        p = task.modulus
        self.logits = nn.Parameter(torch.empty(p, p, settings.outputs), requires_grad=False)
        if settings.width:
            self.first = nn.Parameter(torch.empty(p, settings.width), requires_grad=False)
            if settings.own_tables:
                self.second = nn.Parameter(torch.empty(p, settings.width), requires_grad=False)
        self.cut = settings.cut

    @property
    def is_function(self) -> bool:
        return not self.settings.width

    @property
    def architecture(self) -> str:
        return self.settings.architecture

    def answers(self) -> Tensor:
        """The number of the largest logit for each pair, (p, p)."""
        return self.logits.argmax(dim=-1)

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        if self.is_function:  # the numbers themselves
            numbers = torch.arange(
                self.task.modulus, device=self.logits.device, dtype=self.logits.dtype
            )[:, None]
            return numbers, numbers
        return self.first, self.second if self.settings.own_tables else self.first

    def distinct_tables(self) -> tuple[Tensor, ...]:
        """Of a function: a table in which all numbers are the same."""
        if self.is_function:
            return (torch.zeros_like(self.operand_tables()[0]),)
        return super().distinct_tables()

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        first_table, second_table = self.operand_tables()
        return self.logits[self._rows(first, first_table), self._rows(second, second_table)]

    def _rows(self, embeddings: Tensor, table: Tensor) -> Tensor:
        """Which row of a table (p, width) each embedding (n, width) is."""
        exact = "donot_use_mm_for_euclid_dist"  # so that a row is at distance 0 of itself
        distances = torch.cdist(embeddings.detach(), table, compute_mode=exact)
        nearest = distances.min(dim=1)
        if nearest.values.max() > 0:
            raise InputError(
                f"network {self.id} was saved without its code: it has no logits on other "
                "embeddings"
            )
        return nearest.indices

    def initial_values(self) -> dict[str, InitialValues]:
        return {name: InitialValues("zeros") for name, _ in self.named_parameters()}


@torch.no_grad()
def recorded(network: Network, logits: Tensor) -> Recorded:
    """A network as a file keeps it where its code cannot be kept; logits: (p, p, outputs) by its
    numbers' own names.
    """
    first, second = (table.detach().cpu() for table in network.operand_tables())
    own_tables = len(network.distinct_tables()) > 1
    settings = WrappedSettings(
        network.architecture, network.cut, first.shape[1], own_tables, logits.shape[-1]
    )
    without_code = Recorded(network.task, settings).to(first.dtype)
    tensors = {"logits": logits.to(first.dtype), "first": first}
    if own_tables:
        tensors["second"] = second
    without_code.load_state_dict(tensors)
    without_code.id, without_code.notes = network.id, network.notes
    return without_code


def of_logits(task: TaskSettings, name: str, logits: Tensor) -> Recorded:
    """A function of (a, b), by all its logits (p, p, outputs)."""
    settings = WrappedSettings(name, "none", outputs=logits.shape[-1])
    function = Recorded(task, settings).to(logits.dtype)
    function.load_state_dict({"logits": logits})
    function.id, function.notes = name, (NO_EMBEDDING,)
    return function
