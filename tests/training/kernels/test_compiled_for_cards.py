"""Kernels with the tiles of other cards, compiled for them without a GPU: all must fit, and what
spills must stay in a multiprocessor's first cache, or be what the table of docs/engines.md says.

`python docs/generate/cards.py` counts the spills of every shape and writes that table.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

ROOT = Path(__file__).parents[3]
HELPERS = ROOT / "tests" / "helpers"
MOST_SPILLED = 1024  # bytes per thread: 128 KB of a program of 4 warps, the first cache of sm_89


def compiled_for(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    folders = [str(HELPERS), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(folders)
    script = [] if arguments[0] == "-c" else [str(HELPERS / "compiled_for_cards.py")]
    command = [sys.executable, *script, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


# Parts of the names of the cases whose spills are counted: 16 of the cases
SPILLS_COUNTED = ("p 113", "beta")
SPILLS_ON = (89, 120)


@pytest.mark.slow
@pytest.mark.parametrize("arch", [89, 100, 120])
def test_every_shape_fits(arch: int) -> None:
    """sm_80 and sm_86 have the kernels of sm_89, and as much memory or more. `test_little_spills`
    has the other cases of its cards.
    """
    others = SPILLS_COUNTED if arch in SPILLS_ON else ()
    skipped = [word for part in others for word in ("--skip", part)]
    said = compiled_for(arch, "--memory-only", *skipped)
    assert said.returncode == 0, said.stdout + said.stderr[-2000:]
    assert len(said.stdout.splitlines()) > 20  # cases


@pytest.mark.slow
@pytest.mark.parametrize("arch", SPILLS_ON)
@pytest.mark.parametrize("case", SPILLS_COUNTED)
def test_little_spills(arch: int, case: str) -> None:
    """And all fit."""
    said = compiled_for(arch, "--only", case, "--most-spilled", MOST_SPILLED)
    assert said.returncode == 0, said.stdout + said.stderr[-2000:]
    assert said.stdout


def most_spilled(arch: int) -> tuple[int, str]:
    """By the docs: bytes per thread, and the case where it is."""
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| sm_{arch} "))
    *_, cell, _ = row.split("|")
    count, _, case = cell.split(", ")
    return int(count.split()[0].replace(",", "")), case.strip()


@pytest.mark.slow
@pytest.mark.parametrize("arch", [89, 100, 120])
def test_no_more_spills_than_the_docs_say(arch: int) -> None:
    """In the case that spills most on this card, which `test_little_spills` does not have, and in a
    small one of a linear model.
    """
    most, case = most_spilled(arch)
    for name in (case, "Z2xZ30 beta"):
        said = compiled_for(arch, "--only", name, "--most-spilled", most)
        assert said.returncode == 0, said.stdout + said.stderr[-2000:]
        assert len(said.stdout.splitlines()) == 1


@pytest.mark.slow
def test_memory_does_not_depend_on_how_far_a_kernel_is_compiled() -> None:
    lines = [
        compiled_for(89, "--only", "delta", "--skip", "p 113", *flags).stdout.splitlines()
        for flags in ((), ("--memory-only",))
    ]
    memories = [[line.split("), ")[0] for line in of_one] for of_one in lines]
    assert memories[0] == memories[1]
    assert len(memories[0]) == 2  # cases


SAME = """
import compiled_kernels
from compiled_for_cards import CARDS, CASES, SAME_AS_89
from triton import knobs
from triton.backends.compiler import GPUTarget

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
