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

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        if self.is_function:  # the numbers themselves
            numbers = torch.arange(
                self.task.modulus, device=self.logits.device, dtype=self.logits.dtype
            )[:, None]
            return numbers, numbers
        return self.first, self.second if self.settings.own_tables else self.first

    def distinct_tables(self) -> tuple[Tensor, ...]:
        """Of a function: a table in which all numbers are the same."""
        return (
            (torch.zeros_like(self.operand_tables()[0]),)
            if self.is_function
            else super().distinct_tables()
        )

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        exact = "donot_use_mm_for_euclid_dist"  # so that a row is at distance 0 of itself
        operands = zip((first.detach(), second.detach()), self.operand_tables(), strict=True)
        places = [torch.cdist(each, own, compute_mode=exact) for each, own in operands]
        if max(float(place.min(dim=1).values.max()) for place in places) > 0:
            raise InputError(
                f"network {self.id} was saved without its code: it has no logits on other "
                "embeddings"
            )
        return self.logits[places[0].argmin(dim=1), places[1].argmin(dim=1)]

    def initial_values(self) -> dict[str, InitialValues]:
        return {name: InitialValues("zeros") for name, _ in self.named_parameters()}


@torch.no_grad()
def recorded(network: Network, logits: Tensor) -> Recorded:
    """A network as a file keeps it where its code cannot be kept; logits: (p, p, outputs) by its
    numbers' own names.
    """
    first, second = (table.detach().cpu() for table in network.operand_tables())
    own = len(network.distinct_tables()) > 1
    name = (
        network.settings.architecture
        if isinstance(network.settings, WrappedSettings)
        else type(network).__name__
    )
    settings = WrappedSettings(name, network.cut, first.shape[1], own, logits.shape[-1])
    found = Recorded(network.task, settings).to(first.dtype)
    found.load_state_dict(
        {"logits": logits.to(first.dtype), "first": first, **({"second": second} if own else {})}
    )
    found.id, found.notes = network.id, network.notes
    return found


def of_logits(task: TaskSettings, name: str, logits: Tensor) -> Recorded:
    """A function of (a, b), by all its logits (p, p, outputs)."""
    found = Recorded(task, WrappedSettings(name, "none", outputs=logits.shape[-1])).to(logits.dtype)
    found.load_state_dict({"logits": logits})
    found.id, found.notes = name, (NO_EMBEDDING,)
    return found
