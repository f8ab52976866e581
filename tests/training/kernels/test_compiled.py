"""Kernels are compiled for the H200 (sm_90a) without a GPU: the assembler must not serialize their
products or spill much.

It serializes products when it runs out of registers or cannot see through a loop, and says so in a
remark that nothing prints: the kernel is right, and slow. A few registers may spill: with 128
outputs `by_units` spills 32 bytes per thread if it takes 64 rows at a time and none if it takes 32,
and needs 17.0 µs instead of 23.5 (p = 113, on an H200).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed")

COMPILE = """
import sys
import compiled_kernels
from algophase.core.settings import LinearSettings, TaskSettings, TransformerSettings

engine = compiled_kernels.fused_engine(*(eval(argument) for argument in sys.argv[1:]))
for problem in compiled_kernels.problems(compiled_kernels.training_step(engine)):
    print(problem)
"""
HELPERS = Path(__file__).parents[2] / "helpers"

CASES = [
    *(("TaskSettings()", f"TransformerSettings({width})") for width in (128, 256, 384, 512)),
    ("TaskSettings(7)", "TransformerSettings(16)"),
    ("TaskSettings(113, equals_sign=True)", "TransformerSettings()"),
    *(("TaskSettings()", f"LinearSettings({model!r})") for model in ("beta", "delta")),
    ("TaskSettings()", "TransformerSettings(128, 3)"),
    ("TaskSettings()", "TransformerSettings(256, 2)"),
    ("TaskSettings(113, equals_sign=True)", "TransformerSettings(128, 2)"),
    ("TaskSettings(113)", "LinearSettings('beta')"),
    ("TaskSettings(group='S5')", "TransformerSettings()"),
    ("TaskSettings(group='S5')", "TransformerSettings(512)"),
    ("TaskSettings(group='A5')", "LinearSettings('delta')"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "network"), CASES)
def test_nothing_is_serialized_or_spilled_in_bulk_and_all_fits(task: str, network: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    folders = [str(HELPERS), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(folders)
    command = [sys.executable, "-c", COMPILE, task, network]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, ""), said.stderr[-2000:]


PTX = """
ld.param.b64 %rd1, [kernel_0];
ld.param.b64 %rd2, [kernel_1];
add.s64 %rd3, %rd1, 64;
ld.global.b32 %r1, [%rd3];
mul.rn.f32 %r2, %r1, %r1;
st.global.b32 [%rd2], %r2;
ret;
"""


def test_equal_effects_are_equal_bits_whatever_the_order_and_the_registers() -> None:
    import compiled_kernels

    def effects(ptx: str) -> list[str]:
        return compiled_kernels.effects(compiled_kernels.instructions(ptx, "by_rows"))

    pointer, address = "ld.param.b64 %rd2, [kernel_1];\n", "add.s64 %rd3, %rd1, 64;\n"
    turned = PTX.replace(pointer + address, address + pointer)
    assert turned != PTX
    renamed = PTX.replace("%r1", "%r7").replace("%rd3", "%rd9")
    assert effects(PTX) == effects(turned) == effects(renamed)
    assert effects(PTX) != effects(PTX.replace("mul.rn", "mul.rz"))
    assert effects(PTX) != effects(PTX.replace("%rd1, 64", "%rd1, 68"))
    assert effects(PTX) != effects(PTX.replace("%r1, %r1", "%r1, %r2"))
