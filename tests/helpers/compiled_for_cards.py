"""What the kernels in half precision need on other cards: compiled for each here, without a GPU.

    python tests/helpers/compiled_for_cards.py 89                    # every case
    python tests/helpers/compiled_for_cards.py 89 --only "width 256"
    python tests/helpers/compiled_for_cards.py 89 --memory-only      # a third of the time

A case is compiled with the tiles that its card takes (`training/engines/cards.py`). Spills are
counted by the assembler that Triton brings. Nothing is run.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import torch
from compiled_kernels import (
    FUSED,
    LOOKED_UP,
    assembler_says,
    compiled,
    different,
    fused_engine,
    spilled_bytes,
    training_step,
    without_assembler,
)
from triton import knobs
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptx_version_from_options

from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.training.engines import _in_half
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
CASES: dict[str, tuple[TaskSettings, NetworkSettings]] = {**FUSED, **LARGE, **LOOKED_UP}


_spilled: dict[str, int] = {}  # by PTX: shapes share many kernels


class Need(NamedTuple):
    """What one kernel needs in a case. memory: bytes of shared memory. spilled: per thread."""

    case: str
    kernel: str
    memory: int
    spilled: int


def refusal(arch: int, case: str) -> str | None:
    """Why the fused engine does not take a case on a card, or None if it does."""
    run = RunSettings(*CASES[case])
    card = CARDS[arch][1]
    with mock.patch.object(_in_half, "card_of", return_value=card):
        return ENGINES["fused"](run).unsupported(run, torch.device("cuda"))


@contextmanager
def memory_is_enough() -> Iterator[None]:
    """Kernels are compiled until their memory is known. Nothing is translated for LLVM."""

    def hook(*arguments: Any) -> tuple[str, str] | None:
        if not arguments:  # its part of cache keys
            return "memory only", "memory only"
        backend, stages, options, _, capability = arguments
        version = get_ptx_version_from_options(options, backend.target.arch)
        stages["llir"] = partial(with_memory, capability=capability, version=version)
        stages["ptx"] = stages["cubin"] = nothing
        return None

    with mock.patch.object(knobs.runtime, "add_stages_inspection_hook", hook):
        yield


def with_memory(module: Any, metadata: dict[str, Any], capability: int, version: int) -> str:
    """Triton's passes up to the one that lays out shared memory."""
    manager = ir.pass_manager(module.context)
    passes.ttgpuir.add_combine_tensor_select_and_if(manager)
    passes.ttgpuir.add_allocate_warp_groups(manager)
    passes.convert.add_scf_to_cf(manager)
    passes.gluon.add_inliner(manager)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, capability, version)
    manager.run(module, "memory")
    metadata["shared"] = module.get_int_attr("ttg.shared")
    # what `triton.compile` asks of every kernel
    metadata["name"] = "nothing"
    metadata["tmem_size"] = 0
    return ""


def nothing(_source: str, _metadata: dict[str, Any]) -> str:
    return ""


def needs(arch: int, case: str, *, spills: bool = True) -> Iterator[Need]:
    """Of every kernel of a case with the tiles of a card. spills: else only memory is known."""
    target, card = GPUTarget("cuda", arch, 32), CARDS[arch][1]
    compiled_target = GPUTarget("cuda", 89, 32) if arch in SAME_AS_89 else target
    with mock.patch.object(_in_half, "card_of", return_value=card):
        launches = different(training_step(fused_engine(*CASES[case])))
    until_ptx = mock.patch.object(knobs.runtime, "add_stages_inspection_hook", without_assembler)
    with until_ptx if spills else memory_is_enough():
        for launch in launches:
            kernel = compiled(launch, compiled_target)
            spilled = 0
            if spills:
                ptx = kernel.asm["ptx"].replace(f"sm_{compiled_target.arch}", f"sm_{arch}")
                if ptx not in _spilled:
                    _spilled[ptx] = spilled_bytes(assembler_says(ptx, target))
                spilled = _spilled[ptx]
            yield Need(case, launch.kernel.__name__, kernel.metadata.shared, spilled)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch", type=int, choices=CARDS)
    parser.add_argument("--only", default="", help="a part of the names of the cases")
    parser.add_argument(
        "--skip", action="append", default=[], help="a part of the names of cases to leave out"
    )
    parser.add_argument("--memory-only", action="store_true", help="do not count spills")
    parser.add_argument("--most-spilled", type=int, help="bytes per thread that are too many")
    options = parser.parse_args()
    limit = CARDS[options.arch][1].shared_memory * 1024
    most_spilled = float("inf") if options.most_spilled is None else options.most_spilled
    bad = 0
    for case in CASES:
        if options.only not in case or any(part in case for part in options.skip):
            continue
        reason = refusal(options.arch, case)
        if reason is not None:
            print(f"{case}: not taken, {reason}", flush=True)
            continue
        of_case = list(needs(options.arch, case, spills=not options.memory_only))
        largest = max(of_case, key=lambda need: need.memory)
        worst = max(of_case, key=lambda need: need.spilled)
        fits = largest.memory <= limit and worst.spilled <= most_spilled
        bad += not fits
        spills = f"spills {worst.spilled} bytes ({worst.kernel})"
        if options.memory_only:
            spills = "spills not counted"
        print(
            f"{case}: {largest.memory / 1024:.0f} KB ({largest.kernel}), "
            f"{spills}"
            f"{'' if fits else '  TOO MUCH'}",
            flush=True,
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
