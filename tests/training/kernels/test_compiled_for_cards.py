"""Kernels with the tiles of other cards, compiled for them without a GPU: all must fit, and what
spills must stay in a multiprocessor's first cache, or be what the table of docs/engines.md says.

What each kernel needs is kept in `needs.txt`, under a digest of all that goes into it
(`tests/helpers/compiled_for_cards.py`). `python docs/generate/cards.py` writes it, and the table.
"""

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed")

from compiled_for_cards import H200_CASES  # noqa: E402

ROOT = Path(__file__).parents[3]
KEPT_OF, *_ = Path(__file__).with_name("needs.txt").read_text(encoding="utf-8").splitlines()
of_this_triton = pytest.mark.skipif(
    f"triton=={triton.__version__}" != KEPT_OF,
    reason=f"needs.txt is of {KEPT_OF}, and here is {triton.__version__}",
)
HELPERS = ROOT / "tests" / "helpers"
# Cases that must be fast on an H200
FAST_CASES = {
    *H200_CASES,
    "width 128",
    "width 256",
    "width 384",
    "p 7 width 16",
    "p 113 equals sign",
    "beta",
    "delta",
    "2 layers width 256",
    "2 layers p 113 equals sign",
    "S5",
    "S5 width 512",
    "A5 delta",
}
MOST_SPILLED = 1024  # bytes per thread: 128 KB of a program of 4 warps, the first cache of sm_89


def compiled_for(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    folders = [str(HELPERS), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(folders)
    script = [] if arguments[0] == "-c" else [str(HELPERS / "compiled_for_cards.py")]
    command = [sys.executable, *script, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


class Line(NamedTuple):
    """What the helper prints of one kernel."""

    arch: int
    case: str
    kernel: str
    memory: int
    spilled: int
    serialized: bool


def lines_of(*arguments: object) -> list[Line]:
    printed = compiled_for(*arguments)
    assert printed.returncode == 0, printed.stdout[-500:] + printed.stderr[-2000:]
    lines = []
    for text in printed.stdout.splitlines():
        arch, case, kernel, need = text.split(": ")
        memory, spilled = map(int, re.findall(r"\d+", need))
        serialized = "serialized" in need
        lines.append(Line(int(arch.removeprefix("sm_")), case, kernel, memory, spilled, serialized))
    return lines


class Row(NamedTuple):
    """A row of the table in docs/engines.md: memory in KB, spills in bytes per thread."""

    limit: int
    taken: str
    memory: int
    largest: str
    spilled: int
    most_spilled: str
    most_spilled_case: str


def row_of(arch: int) -> Row:
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    (text,) = (line for line in page.splitlines() if line.startswith(f"| sm_{arch} "))
    _, _, _, limit, taken, largest, spills, _ = text.split("|")
    memory, largest_kernel, _ = largest.split(", ")
    spilled, kernel, case = spills.split(", ")
    return Row(
        limit=int(limit.split()[0]),
        taken=taken.strip(),
        memory=int(memory.split()[0]),
        largest=largest_kernel.strip("`"),
        spilled=int(spilled.split()[0].replace(",", "")),
        most_spilled=kernel.strip("`"),
        most_spilled_case=case.strip(),
    )


TARGETS = (80, 86, 89, 90, 100, 120)
# Where spills must stay in the first cache, and parts of the names of the cases
SPILLS_COUNTED = {89: ("p 113", "beta"), 120: ("p 113", "beta")}


def test_what_is_kept_is_of_the_pinned_triton() -> None:
    assert KEPT_OF in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()


@of_this_triton
@pytest.mark.slow
def test_all_fit_and_need_what_the_docs_say() -> None:
    """By what is kept of each kernel. One that is not kept fails.

    On an H200 the assembler must put no products one after the other. It does so when it runs out
    of registers or cannot see through a loop, and says so in a remark that nothing prints: the
    kernel is right, and slow. A few registers may spill: with 128 outputs `by_units` spills 32
    bytes per thread if it takes 64 rows at a time and none if it takes 32, and needs 17.0 µs
    instead of 23.5 (p = 113).
    """
    every_line = lines_of(*TARGETS, "--kept")
    for arch in TARGETS:
        lines = [line for line in every_line if line.arch == arch and line.case not in H200_CASES]
        row = row_of(arch)
        cases = {line.case for line in lines}
        assert row.taken == f"{len(cases)} of {len(cases)}"
        most_memory = max(line.memory for line in lines)
        assert most_memory <= 1024 * row.limit
        assert math.ceil(most_memory / 1024) == row.memory
        assert max(line.spilled for line in lines) == row.spilled
        for line in lines:
            if any(part in line.case for part in SPILLS_COUNTED.get(arch, ())):
                assert line.spilled <= MOST_SPILLED
    fast = [line for line in every_line if line.arch == 90 and line.case in FAST_CASES]
    assert {line.case for line in fast} == FAST_CASES
    assert [line for line in fast if line.serialized or line.spilled > 64] == []


@of_this_triton
@pytest.mark.slow
@pytest.mark.parametrize("arch", [89, 90, 100, 120])
def test_what_is_kept_is_what_is_compiled(arch: int) -> None:
    """The kernel that spills most on this card, and a small linear model."""
    row = row_of(arch)
    worst = f"{row.most_spilled_case}:{row.most_spilled}"
    choices = ("--only", worst, "--only", "Z2xZ30 beta")
    compiled_now = lines_of(arch, *choices, "--again")
    assert row.spilled in [line.spilled for line in compiled_now]
    assert compiled_now == lines_of(arch, *choices, "--kept")


SAME = """
import compiled_kernels
from compiled_for_cards import CARDS, CASES, SAME_AS_89
from triton import knobs
from triton.backends.compiler import GPUTarget

# PTX names source files: Triton's cache may have it from a copy of the project elsewhere
knobs.compilation.always_compile = True
knobs.runtime.add_stages_inspection_hook = compiled_kernels.without_assembler
launches = compiled_kernels.training_step(compiled_kernels.fused_engine(*CASES["one head"]))
for launch in compiled_kernels.different(launches):
    texts = set()
    for arch in (89, *SAME_AS_89):
        kernel = compiled_kernels.compiled(launch, GPUTarget("cuda", arch, 32))
        texts.add(kernel.asm["ptx"].replace(f"sm_{arch}", "sm"))
    print(launch.kernel.__name__, len(texts))
"""


@pytest.mark.slow
def test_three_targets_have_the_same_kernels() -> None:
    said = compiled_for("-c", SAME)
    lines = said.stdout.splitlines()
    assert said.returncode == 0, said.stderr[-2000:]
    assert "by_rows 1" in lines
    assert [line for line in lines if not line.endswith(" 1")] == []


@pytest.mark.slow
def test_no_shape_is_taken_where_products_have_no_instruction() -> None:
    said = compiled_for(75)
    lines = said.stdout.splitlines()
    assert said.returncode == 0, said.stderr[-2000:]
    assert lines
    assert [
        line for line in lines if "not taken, it needs compute capability 8.0" not in line
    ] == []
