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

import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed")

COMPILE = """
import pathlib, re, subprocess, sys, tempfile
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.training.run.plan import ENGINES

ptxas = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
types = {torch.float32: "*fp32", torch.float16: "*fp16", torch.int32: "*i32", torch.int8: "*i8"}
task, network = (eval(argument) for argument in sys.argv[1:])
run = RunSettings(task, network)
engine = ENGINES["fused"](run)([run], torch.device("cpu"), "half")
steps = {(step.kernel.__name__, str(step.options)): step for step in engine.steps.values()}
for (name, _), step in steps.items():
    constants = dict(step.options)
    options = {"num_warps": constants.pop("num_warps"), "num_stages": constants.pop("num_stages", 3)}
    signature = {key: "constexpr" for key in constants}
    divisible = {}
    for place, value in enumerate(step.arguments):
        signature[step.kernel.arg_names[place]] = types[value.dtype] if torch.is_tensor(value) else "i32"
        if torch.is_tensor(value) or value % 16 == 0:
            divisible[(place,)] = [["tt.divisibility", 16]]
    source = ASTSource(step.kernel, signature, constexprs=constants, attrs=divisible)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(compiled.asm["ptx"])
        file.flush()
        command = [ptxas, "-v", "--gpu-name=sm_90a", file.name, "-o", "/dev/null"]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in (said.stdout + said.stderr).splitlines():
        spilled = re.search("([0-9]+) bytes spill stores", line)
        if "serialized" in line or (spilled and int(spilled[1]) > 64):
            print(name, line.strip())
    if compiled.metadata.shared > 227 * 1024:
        print(name, "needs", compiled.metadata.shared, "bytes of shared memory")
"""


CASES = [
    *(("TaskSettings()", f"TransformerSettings({width})") for width in (128, 256, 384, 512)),
    ("TaskSettings(7)", "TransformerSettings(16)"),
    ("TaskSettings(113, equals_sign=True)", "TransformerSettings()"),
    *(("TaskSettings()", f"LinearSettings({model!r})") for model in ("beta", "delta")),
    ("TaskSettings()", "TransformerSettings(128, 3)"),
    ("TaskSettings()", "TransformerSettings(256, 2)"),
    ("TaskSettings(113, equals_sign=True)", "TransformerSettings(128, 2)"),
    ("TaskSettings(113)", "LinearSettings('beta')"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "network"), CASES)
def test_nothing_is_serialized_or_spilled_in_bulk_and_all_fits(task: str, network: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-c", COMPILE, task, network]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, ""), said.stderr[-2000:]
