"""What a GPU lets one program of a kernel use, and the tiles that kernels take there.

All tiles were tuned on an H200. There an operand of a matrix product may stay in shared memory, of
which a program has 227 KB. Every other card has less of it, or keeps operands in registers. So
there are two sets of tiles: those that the engines choose, for capability 9 with 227 KB, and
smaller ones for all others (`SMALLER`), which fit into 99 KB: RTX 30, 40 and 50, A10, L4 and L40
have no more.

Smaller tiles were compiled for every such card and run on none (docs/engines.md has the table,
`docs/generate/cards.py` writes it).
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

import torch

from algophase.core.devices import SIMULATED_MEMORY
from algophase.core.errors import InputError

HOPPER = (9, 0)
OF_HOPPER = 227  # KB
# Below, Triton 3.7 makes no matrix instruction of a product, but thousands of scalar ones
LEAST_CAPABILITY = (8, 0)
LEAST_MEMORY = 99  # KB
# Blackwell for data centers: Triton 3.7 fails to compile `by_rows` and `by_units` with its new
# matrix instructions, and compiles them with those of Ampere
NEEDS_OLD_PRODUCTS = 10


class Card(NamedTuple):
    """capability: major and minor. shared_memory: KB that a program may have."""

    capability: tuple[int, int] = HOPPER
    shared_memory: int = OF_HOPPER

    @property
    def is_tuned(self) -> bool:
        return self.capability[0] == HOPPER[0] and self.shared_memory >= OF_HOPPER

    @property
    def shown_capability(self) -> str:
        major, minor = self.capability
        return f"{major}.{minor}"

    def refusal(self) -> str | None:
        """Why kernels in half precision cannot run, or None if they can."""
        if self.capability < LEAST_CAPABILITY:
            least = Card(LEAST_CAPABILITY).shown_capability
            return (
                f"it needs compute capability {least}, for matrix products in float16; this card "
                f"has {self.shown_capability}"
            )
        if self.shared_memory < LEAST_MEMORY:
            return (
                f"it needs {LEAST_MEMORY} KB of shared memory per program; this card has "
                f"{self.shared_memory}"
            )
        return None


def card_of(device: torch.device) -> Card:
    """The card behind a device; on a machine without one, where kernels are interpreted or
    compiled for another, the H200. `ALGOPHASE_SHARED_MEMORY_KB` says less memory than there is."""
    if device.type == "cuda" and torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(device)
        capability = (properties.major, properties.minor)
        # an older PyTorch, and one for AMD's cards, does not say
        usual = OF_HOPPER if properties.major == HOPPER[0] else LEAST_MEMORY
        memory = getattr(properties, "shared_memory_per_block_optin", 1024 * usual)
        card = Card(capability, memory // 1024)
    else:
        card = Card()
    simulated = os.environ.get(SIMULATED_MEMORY)
    if simulated is None:
        return card
    if not simulated.isdecimal() or int(simulated) == 0:
        raise InputError(
            f"{SIMULATED_MEMORY} is {simulated!r}; it must be a whole number of KB above 0"
        )
    return card._replace(shared_memory=min(card.shared_memory, int(simulated)))


class Tiles(NamedTuple):
    """Sizes of a kernel's tiles, its stages and its warps are at most these. warps: at least."""

    most: Mapping[str, int]
    warps: int = 1


# What the compiler says is for sm_89; "spills" are bytes per thread
SMALLER: dict[str, Tiles] = {
    # p = 59, width 128: 64 rows and 3 stages spill 2,660, these 20
    "by_units": Tiles({"ROWS": 16, "STAGES": 2, "num_warps": 4}),
    # p = 113: 4 warps spill 96. Width 256, p = 113: all channels at a time take 102 KB
    "by_rows": Tiles({"STAGES": 2, "BC": 128}),
    "after_units": Tiles({}, warps=8),  # p = 113: 4 warps spill 624
    # p = 113: two stages take 106 KB, one 32. p = 59: 64 channels at a time spill 508, 32 spill 72
    "after_tables": Tiles({"BK": 32, "num_stages": 1}),
    "after_rows": Tiles({"STAGES": 1}),  # width 1024, p = 113: 141 KB with three, 8 with one
    "wide_sums": Tiles({"num_stages": 2}),  # 112 KB with four, 48 with two
    "deep_forward": Tiles({"BC": 128}),  # width 256: 164 KB with all channels
    "deep_last": Tiles({"BC": 128}),
    "linear_rows": Tiles({"BM": 32}),  # beta: 64 spill 112
    "linear_units": Tiles({"STAGES": 2}),  # beta: 128 KB with three, 88 with two
}


def fitted(card: Card, kernel: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """The tiles of a launch on a card. sizes: those tuned on the H200, by the kernel's names."""
    tiles = SMALLER.get(kernel)
    if card.is_tuned or tiles is None:
        return dict(sizes)
    changed = dict(sizes)
    for name, most in tiles.most.items():
        if name in changed:
            changed[name] = min(changed[name], most)
    changed["num_warps"] = max(changed["num_warps"], tiles.warps)
    return changed
