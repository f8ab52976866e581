"""What the kernels in half precision need on other cards: compiled for each here, without a GPU.

    python tests/helpers/compiled_for_cards.py 89 120                    # every case
    python tests/helpers/compiled_for_cards.py 89 --only "width 256:by_rows" --again

A case is compiled with the tiles that its card takes (`training/engines/cards.py`). Spills are
counted by the assembler that Triton brings. Nothing is run.

To compile every kernel for every card takes 20 minutes. So what each needs is kept in
`tests/training/kernels/needs.txt`, under a digest of all that goes into it: the source of the
kernel and of what it calls, its constants, the types and alignment of its arguments, the card and
Triton's version. Only a kernel that is not kept is compiled. `docs/generate/cards.py` writes the
file.
"""

import argparse
import hashlib
import itertools
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import torch
import triton
from compiled_kernels import (
    FUSED,
    LOOKED_UP,
    Launch,
    assembler_says,
    compiled,
    different,
    fused_engine,
    source_of,
    spilled_bytes,
    training_step,
    without_assembler,
)
from triton import knobs
from triton.backends.compiler import GPUTarget

from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.training.engines import _compiling, _in_half
from algophase.training.engines.cards import Card
from algophase.training.run.plan import ENGINES

CARDS = {
    75: ("T4, RTX 20", Card((7, 5), 64)),
    80: ("A100, A30", Card((8, 0), 163)),
    86: ("RTX 30, A10, A40", Card((8, 6), 99)),
    89: ("RTX 40, L4, L40", Card((8, 9), 99)),
    90: ("H100, H200", Card((9, 0), 227)),
    100: ("B100, B200", Card((10, 0), 227)),
    120: ("RTX 50", Card((12, 0), 99)),
}
# Triton makes the same PTX for these as for sm_89, but for the name (`test_compiled_for_cards`)
SAME_AS_89 = (80, 86)
# The largest of each kind, beside what `compiled_kernels` has
LARGE = {
    "width 256 p 113 equals sign": (TaskSettings(113, equals_sign=True), TransformerSettings(256)),
    "one head width 512": (TaskSettings(), TransformerSettings(512, heads=1)),
    "one head width 256 p 113": (TaskSettings(113), TransformerSettings(256, heads=1)),
    "8 heads p 113": (TaskSettings(113), TransformerSettings(128, heads=8)),
    "2 layers width 256 p 113": (TaskSettings(113), TransformerSettings(256, 2)),
    "2 layers width 256 gelu equals": (
        TaskSettings(113, equals_sign=True),
        TransformerSettings(256, 2, activation="gelu"),
    ),
    "2 layers width 256 two heads": (TaskSettings(), TransformerSettings(256, 2, heads=2)),
    "2 layers one head p 113": (TaskSettings(113), TransformerSettings(128, 2, heads=1)),
    "2 layers gelu p 113": (TaskSettings(113), TransformerSettings(128, 2, activation="gelu")),
    "delta 1024 units p 113": (TaskSettings(113), LinearSettings("delta", 256, 1024)),
}
Case = tuple[TaskSettings, NetworkSettings]
CASES: dict[str, Case] = {**FUSED, **LARGE, **LOOKED_UP}
# Compiled for an H200 alone
H200_CASES: dict[str, Case] = {
    "width 512": (TaskSettings(), TransformerSettings(512)),
    "3 layers": (TaskSettings(), TransformerSettings(128, 3)),
    "beta p 113": (TaskSettings(113), LinearSettings("beta")),
}
EVERY_CASE = CASES | H200_CASES
# Which instructions multiply matrices on a card is decided there
PRODUCTS = Path(_compiling.__file__).read_text(encoding="utf-8")
KEPT = Path(__file__).parents[1] / "training" / "kernels" / "needs.txt"


class Need(NamedTuple):
    """What a kernel needs on a card.

    memory: bytes of shared memory. spilled: bytes per thread. serialized: whether the assembler
    puts its products one after the other.
    """

    memory: int
    spilled: int
    serialized: bool


class Kernel(NamedTuple):
    """digest: of its source and of what it calls, of its constants, and of the types and alignment
    of its arguments.
    """

    name: str
    digest: str


class KernelNeed(NamedTuple):
    case: str
    kernel: str
    need: Need


class Needs:
    """What kernels need, by their keys: read from the file, or compiled.

    kept: as the file has it. used: what was asked for.
    """

    def __init__(self, kept: dict[str, Need]) -> None:
        self.kept = kept
        self.used: dict[str, Need] = {}

    def of_case(self, case: str, arch: int, part_of_name: str = "") -> list[KernelNeed]:
        """Of every kernel of a case with the tiles of a card, or of those with such names."""
        kernels = kernels_of(case, CARDS[arch][1].is_tuned)
        keys = {kernel: key(kernel, arch) for kernel in kernels if part_of_name in kernel.name}
        known = self.kept | self.used
        unknown = {kernel for kernel, name in keys.items() if name not in known}
        if unknown:
            known |= compiled_needs(case, arch, unknown)
        self.used |= {name: known[name] for name in keys.values()}
        return [KernelNeed(case, kernel.name, known[name]) for kernel, name in keys.items()]

    def missing(self, case: str, arch: int) -> int:
        """How many kernels of a case are not kept."""
        kernels = kernels_of(case, CARDS[arch][1].is_tuned)
        return sum(key(kernel, arch) not in self.kept for kernel in kernels)


def read_kept() -> Needs:
    kept = {}
    _, *lines = KEPT.read_text(encoding="utf-8").splitlines()  # the first has Triton's version
    for line in lines:
        name, memory, spilled, serialized = line.split()
        kept[name] = Need(int(memory), int(spilled), serialized == "serialized")
    return Needs(kept)


def none_kept() -> Needs:
    """Every kernel is compiled when it is asked for: Triton's cache is left out, too."""
    knobs.compilation.always_compile = True
    return Needs({})


def write_kept(needs: Needs) -> None:
    """Keep what was asked for, and nothing else."""
    lines = [f"triton=={triton.__version__}\n"]
    for name, need in sorted(needs.used.items()):
        products = "serialized" if need.serialized else "overlapped"
        lines.append(f"{name} {need.memory} {need.spilled} {products}\n")
    KEPT.write_text("".join(lines), encoding="utf-8")


def key(kernel: Kernel, arch: int) -> str:
    """A digest of all that decides what a kernel needs on a card."""
    parts = (kernel.digest, arch, triton.__version__, PRODUCTS)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def kernel_of(launch: Launch) -> Kernel:
    return Kernel(launch.kernel.__name__, f"{source_of(launch).hash()} {launch.options}")


@cache
def kernels_of(case: str, is_tuned: bool) -> tuple[Kernel, ...]:
    """Of a case, without its tensors, which may take gigabytes."""
    return tuple(map(kernel_of, launches_of(case, is_tuned)))


def launches_of(case: str, is_tuned: bool) -> list[Launch]:
    """One launch of each kernel of a case. is_tuned: with the tiles of an H200, else with the
    smaller ones of all other cards.
    """
    card = next(card for _, card in CARDS.values() if card.is_tuned == is_tuned)
    with mock.patch.object(_in_half, "card_of", return_value=card):
        return different(training_step(fused_engine(*EVERY_CASE[case])))


def compiled_needs(case: str, arch: int, kernels: Collection[Kernel]) -> dict[str, Need]:
    """What these kernels of a case need on a card, by their keys."""
    needs = {}
    for launch in launches_of(case, CARDS[arch][1].is_tuned):
        kernel = kernel_of(launch)
        if kernel in kernels:
            needs[key(kernel, arch)] = need_of(launch, arch)
    return needs


def need_of(launch: Launch, arch: int) -> Need:
    """By compiling it."""
    target = GPUTarget("cuda", arch, 32)
    compiled_target = GPUTarget("cuda", 89, 32) if arch in SAME_AS_89 else target
    with mock.patch.object(knobs.runtime, "add_stages_inspection_hook", without_assembler):
        kernel = compiled(launch, compiled_target)
    ptx = kernel.asm["ptx"].replace(f"sm_{compiled_target.arch}", f"sm_{arch}")
    lines = assembler_says(ptx, target)
    serialized = any("serialized" in line for line in lines)
    return Need(kernel.metadata.shared, spilled_bytes(lines), serialized)


def refusal(arch: int, case: str) -> str | None:
    """Why the fused engine does not take a case on a card, or None if it does."""
    run = RunSettings(*EVERY_CASE[case])
    card = CARDS[arch][1]
    with mock.patch.object(_in_half, "card_of", return_value=card):
        return ENGINES["fused"](run).unsupported(run, torch.device("cuda"))


def cases_for(arch: int) -> list[str]:
    """Cases that are compiled for a card, if the fused engine takes them there."""
    return list(EVERY_CASE if CARDS[arch][1].is_tuned else CASES)


def taken_cases(arch: int) -> list[str]:
    return [case for case in cases_for(arch) if refusal(arch, case) is None]


def chosen_cases(arches: Sequence[int], choices: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Cards, cases, and parts of kernels' names. choices: parts of names, "CASE" or "CASE:KERNEL"."""
    for arch, case, choice in itertools.product(arches, EVERY_CASE, choices):
        part_of_case, _, part_of_kernel = choice.partition(":")
        if part_of_case in case and case in cases_for(arch):
            yield arch, case, part_of_kernel


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch", type=int, nargs="+", choices=CARDS)
    parser.add_argument(
        "--only",
        action="append",
        metavar="CASE[:KERNEL]",
        help="parts of the names of a case and of its kernels",
    )
    parser.add_argument("--again", action="store_true", help="compile what is kept, too")
    parser.add_argument("--kept", action="store_true", help="compile nothing")
    options = parser.parse_args()
    needs = none_kept() if options.again else read_kept()
    new = 0
    for arch, case, part_of_kernel in chosen_cases(options.arch, options.only or [""]):
        reason = refusal(arch, case)
        if reason is not None:
            print(f"sm_{arch}: {case}: not taken, {reason}")
            continue
        missing = needs.missing(case, arch) if options.kept else 0
        if missing == 0:
            print_needs(arch, needs.of_case(case, arch, part_of_kernel))
        new += missing
    if new > 0:
        print(f"{new} kernels are not in {KEPT.name}: run python docs/generate/cards.py")
    return int(new > 0)


def print_needs(arch: int, of_case: Sequence[KernelNeed]) -> None:
    for case, kernel, need in of_case:
        products = ", products serialized" if need.serialized else ""
        print(
            f"sm_{arch}: {case}: {kernel}: {need.memory} bytes, spills {need.spilled}{products}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
