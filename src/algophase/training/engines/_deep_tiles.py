"""How the kernels of `deep.py` cut up their work, so that nothing spills and what a program holds
fits into the shared memory of the card. What the compiler says is for sm_90a and width 128; nothing
here was timed in two ways on the card (docs/notes/tuning.md lists what to try).
"""

from typing import Any, NamedTuple

TILE = 64  # pairs a program of attention takes; rows that share a power of two


class Tiles(NamedTuple):
    """How the rows of an MLP are cut up: so that nothing spills and two programs share a
    multiprocessor, up to width 128.
    """

    rows: int  # a program takes
    hidden: int  # units at a time
    warps: int
    stages: int  # of loads under way

    def options(self) -> dict[str, Any]:
        return {
            "ROWS": self.rows,
            "BM": self.hidden,
            "STAGES": self.stages,
            "num_warps": self.warps,
        }


def row_tiles(channels: int, outputs: int, gelu: bool, back: bool, tuned: bool) -> Tiles:
    """Of the kernels by rows, with so many channels at most; back: of `deep_back`. tuned: on an
    H200."""
    if channels > 128:
        # Up to 64 bytes per thread spill in `deep_last`. On other cards, two stages take 100 KB in
        # `deep_back`, one 96 (GELU, p = 113, an equals sign)
        return Tiles(64, 32, 8, 2 if tuned or not back else 1)
    if gelu or outputs > 64:
        return Tiles(64, 32, 4, 3 if outputs <= 64 else 2)  # not measured
    # A third stage takes 145 KiB in `deep_forward` and `deep_last`, so that one program has a
    # multiprocessor to itself; 112 KiB with two. `deep_back` has room for it: 96 KiB.
    return Tiles(64, 64, 4, 3 if back else 2)


def unit_tiles(channels: int, gelu: bool, tuned: bool) -> Tiles:
    """Of `deep_units`. With GELU 64 rows at a time spill 76 bytes per thread, 32 none. Above 128
    channels 32 rows take 100 KB on cards for which nothing is tuned, a little too much."""
    wide = channels > 128
    rows = 32 if gelu or wide else 64
    if wide and not tuned:
        rows = 16
    return Tiles(rows, 64, 8 if wide else 4, 2)


def attention_memory(width: int, size: int, positions: int) -> int:
    """KB of shared memory that an attention kernel takes, with heads of so many channels: the
    stream of every position, and a head's three matrices, in float16. As the compiler says for
    sm_89 and sm_90."""
    stream = TILE * width * positions
    return 2 * (stream + 3 * width * size) // 1024


def attention_warps(size: int, positions: int) -> int:
    """Of the attention kernels, with heads of so many channels. With 4 warps and 2 positions 120 to
    242 registers, two to four programs per multiprocessor."""
    return min(16, max(4, size // 8) * (positions - 1))
