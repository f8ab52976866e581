"""Every kernel launch of a training step as text, with the PTX that Triton makes of it for an H200.

No GPU is needed: launches are recorded instead of run, and compiled for sm_90. Two versions of the
source whose texts are equal train networks to the same bits on that card:

    python tests/helpers/compiled_kernels.py --write before.txt
    ... change the kernels or the engines ...
    python tests/helpers/compiled_kernels.py --compare before.txt

A line has the case, the kernel, its grid, its tensors (numbered in the order of their first use,
with type and shape) and a digest of the PTX without names, comments and line numbers.
"""

import argparse
import hashlib
import inspect
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.training.engines._compiling import products_for
from algophase.training.engines.engine import Engine
from algophase.training.engines.stacked import StackedEngine
from algophase.training.run.optimizer import AdamW
from algophase.training.run.plan import ENGINES

H200 = GPUTarget("cuda", 90, 32)
PTXAS = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
LAUNCH_OPTIONS = {"num_warps": 4, "num_stages": 3}  # with Triton's defaults
POINTERS = {
    torch.float64: "*fp64",
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.int64: "*i64",
    torch.int32: "*i32",
    torch.int8: "*i8",
}
FUSED = {
    "width 128": (TaskSettings(), TransformerSettings()),
    "width 128 gelu": (TaskSettings(), TransformerSettings(activation="gelu")),
    "width 128 separate": (TaskSettings(separate_vocabularies=True), TransformerSettings()),
    "width 128 equals sign": (TaskSettings(equals_sign=True), TransformerSettings()),
    "p 113": (TaskSettings(113), TransformerSettings()),
    "p 113 equals sign": (TaskSettings(113, equals_sign=True), TransformerSettings()),
    "p 7 width 16": (TaskSettings(7), TransformerSettings(16)),
    "one head": (TaskSettings(), TransformerSettings(64, heads=1)),
    "width 256": (TaskSettings(), TransformerSettings(256)),
    "width 256 gelu p 113": (TaskSettings(113), TransformerSettings(256, activation="gelu")),
    "width 384": (TaskSettings(), TransformerSettings(384)),
    "width 512 gelu equals": (
        TaskSettings(equals_sign=True),
        TransformerSettings(512, activation="gelu"),
    ),
    "width 1024 p 113": (TaskSettings(113), TransformerSettings(1024)),
    "2 layers": (TaskSettings(), TransformerSettings(128, 2)),
    "3 layers gelu": (TaskSettings(), TransformerSettings(128, 3, activation="gelu")),
    "2 layers width 256": (TaskSettings(), TransformerSettings(256, 2)),
    "2 layers p 113 equals sign": (
        TaskSettings(113, equals_sign=True),
        TransformerSettings(128, 2),
    ),
    "2 layers both separate": (
        TaskSettings(31, equals_sign=True, separate_vocabularies=True, outputs="modulus"),
        TransformerSettings(64, 2, heads=3),
    ),
    "alpha": (TaskSettings(), LinearSettings("alpha")),
    "beta": (TaskSettings(), LinearSettings("beta")),
    "gamma p 113": (TaskSettings(113), LinearSettings("gamma")),
    "delta": (TaskSettings(), LinearSettings("delta")),
    "alpha-prime p 113": (TaskSettings(113), LinearSettings("alpha-prime", 128, 512)),
}
STACKED = {
    "stacked": (TaskSettings(11), TransformerSettings(16)),
    "stacked 2 layers": (TaskSettings(11, equals_sign=True), TransformerSettings(24, 2, heads=3)),
}


# Tasks whose answers are looked up
LOOKED_UP = {
    "S5": (TaskSettings(group="S5"), TransformerSettings()),
    "D30": (TaskSettings(group="D30"), TransformerSettings()),
    "S5 width 512": (TaskSettings(group="S5"), TransformerSettings(512)),
    "A5 2 layers": (TaskSettings(group="A5"), TransformerSettings(128, 2)),
    "A5 delta": (TaskSettings(group="A5"), LinearSettings("delta")),
    "Z2xZ30 beta": (TaskSettings(group="Z2xZ30"), LinearSettings("beta")),
}


class Launch(NamedTuple):
    """A launch that was recorded. arguments: every parameter of the kernel by name."""

    kernel: JITFunction
    grid: tuple[int, ...]
    arguments: dict[str, Any]
    options: dict[str, int]

    @property
    def constants(self) -> dict[str, Any]:
        constants = {}
        for parameter in self.kernel.params:
            value = self.arguments[parameter.name]
            is_one = isinstance(value, int) and value == 1
            if parameter.is_constexpr or value is None or is_one:
                constants[parameter.name] = value
        return constants


@contextmanager
def recorded() -> Iterator[list[Launch]]:
    """Launches inside of the block go into a list, and nowhere else."""
    launches: list[Launch] = []

    def record(kernel: JITFunction, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> None:
        options = {name: named.pop(name, default) for name, default in LAUNCH_OPTIONS.items()}
        bound = inspect.signature(kernel.fn).bind(*arguments, **named)
        bound.apply_defaults()
        launches.append(Launch(kernel, tuple(grid), dict(bound.arguments), options))

    run = JITFunction.run
    JITFunction.run = record
    try:
        yield launches
    finally:
        JITFunction.run = run


def source_of(launch: Launch) -> ASTSource:
    """What Triton compiles: the kernel, its constants, and the types and alignment of the rest."""
    signature, aligned = {}, {}
    for index, (name, value) in enumerate(launch.arguments.items()):
        if name in launch.constants:
            signature[name] = "constexpr"
            continue
        is_tensor = torch.is_tensor(value)
        signature[name] = POINTERS[value.dtype] if is_tensor else "i32"
        if (value.data_ptr() if is_tensor else value) % 16 == 0:
            aligned[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(launch.kernel, signature, constexprs=launch.constants, attrs=aligned)


def compiled(launch: Launch, target: GPUTarget = H200) -> Any:
    """What Triton makes of a launch for a card."""
    with products_for(int(target.arch) // 10):
        return triton.compile(source_of(launch), target=target, options=launch.options)


def instructions(ptx: str, name: str) -> list[str]:
    """PTX without the kernel's name, comments, line numbers and debug sections."""
    ptx = ptx.split("\t.section\t.debug")[0]
    ptx = re.sub(r"//.*", "", ptx)
    ptx = re.sub(r"^\s*\.(loc|file|reg)\b.*$", "", ptx, flags=re.MULTILINE)
    ptx = re.sub(rf"\b{re.escape(name)}\b|\b{re.escape(name)}_param", "kernel", ptx)
    ptx = re.sub(r"^\$L__(func|tmp).*$", "", ptx, flags=re.MULTILINE)
    return [" ".join(line.split()) for line in ptx.splitlines() if line.strip()]


def effects(lines_of_ptx: list[str]) -> list[str]:
    """What the instructions do, whatever the order and the registers of pure arithmetic.

    Listed are the instructions that read or write memory, jump, wait or multiply matrices, in
    their order. Each operand is replaced by the expression that computes it, as a digest. A
    register that is assigned in several places is an expression of its own, with the number of
    assignments above and the block where it is read; each of its assignments is listed.
    """
    defined: dict[str, int] = {}
    for line in lines_of_ptx:
        for register in _targets(line):
            defined[register] = defined.get(register, 0) + 1
    values: dict[str, str] = {}
    assigned: dict[str, int] = {}
    listed: list[str] = []
    block = 0

    def value(match: re.Match[str]) -> str:
        register = match[0]
        if defined.get(register, 0) > 1:
            return f"{values.get(register)}@{assigned.get(register, 0)}in{block}"
        return values.get(register, register)

    for line in lines_of_ptx:
        block += line.endswith(":")
        targets = _targets(line)
        several = any(defined[register] > 1 for register in targets)
        if PURE.match(line) and not several:
            sources = REGISTER.sub(value, _without_targets(line))
            for index, register in enumerate(targets):
                values[register] = _digest(f"{sources} {index}")
            continue
        for index, register in enumerate(targets):
            if defined[register] == 1:
                values[register] = f"listed{len(listed)}.{index}"
            else:
                values.setdefault(register, f"several{len(listed)}.{index}")
        sources = REGISTER.sub(value, _without_targets(line) if PURE.match(line) else line)
        for register in targets:
            assigned[register] = assigned.get(register, 0) + 1
        listed.append(f"{sources} -> {[values[register] for register in targets]}")
    return listed


REGISTER = re.compile(r"%[a-z]+\d+\b")
PURE = re.compile(
    r"(add|sub|mul|mad|fma|and|or|xor|not|shl|shr|shf|selp|setp|set|cvt|cvta|bfe|bfi|min|max|neg"
    r"|abs|lop3|prmt|mov|ex2|lg2|rcp|div|rem|sqrt|rsqrt|ld\.param|popc|clz)\b"
)
NO_TARGET = re.compile(
    r"(@!?%p\d+ )?(st|bra|cp|bar|barrier|ret|fence|mbarrier|red|wgmma\.(fence|commit|wait))"
)
FIRST_OPERAND = re.compile(r"^(@!?%p\d+ )?(\S+) (\{[^}]*\}|[^,;]*)")


def _targets(line: str) -> list[str]:
    """Registers that an instruction assigns."""
    if NO_TARGET.match(line) or line.endswith(":") or line[0] in "$.{}":
        return []
    match = FIRST_OPERAND.match(line)
    return REGISTER.findall(match[3]) if match else []


def _without_targets(line: str) -> str:
    match = FIRST_OPERAND.match(line)
    return f"{match[2]} {line[match.end() :]}" if match else line


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def different(launches: list[Launch]) -> list[Launch]:
    """One launch of each kernel and its constants."""
    by_constants = {}
    for launch in launches:
        by_constants[str((launch.kernel.__name__, launch.constants, launch.options))] = launch
    return list(by_constants.values())


def assembler_says(ptx: str, target: GPUTarget) -> list[str]:
    """Lines of the assembler for a card: registers, spills, remarks."""
    arch = int(target.arch)
    assembler = f"{PTXAS}-blackwell" if arch >= 100 else str(PTXAS)
    name = f"sm_{arch}a" if arch >= 90 else f"sm_{arch}"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        command = [assembler, "-v", f"--gpu-name={name}", file.name, "-o", "/dev/null"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    return (result.stdout + result.stderr).splitlines()


def spilled_bytes(said: list[str]) -> int:
    """Per thread, by what the assembler says."""
    spills = re.findall("([0-9]+) bytes spill stores", "\n".join(said))
    return max(map(int, spills), default=0)


def without_assembler(*arguments: Any) -> tuple[str, str] | None:
    """Hook of `triton.compile`: PTX is the last stage. Without arguments, its part of cache keys."""
    if not arguments:
        return "ptx only", "ptx only"
    arguments[1]["cubin"] = lambda source, metadata: b""
    return None


def fused_engine(task: TaskSettings, network: Any) -> Engine:
    run = RunSettings(task, network)
    return ENGINES["fused"](run)([run, run], torch.device("cpu"), "half")


def stacked_engine(task: TaskSettings, network: Any) -> Engine:
    run = RunSettings(task, network)
    engine = StackedEngine([run, run], torch.device("cpu"), "float32")
    engine.kernels = True
    return engine


def training_step(engine: Engine) -> list[Launch]:
    """Everything that an epoch of training and a look at all pairs launch."""
    with recorded() as launches:
        if engine.name == "fused":
            loss = engine.loss_and_gradient()
            engine.all_pairs()
            optimizer = AdamW(engine.parameters, engine.runs, two_launches=True)
            optimizer.epoch(engine.gradients, loss, torch.zeros(engine.count, dtype=torch.int64))
        else:
            engine.loss_and_gradient()
    return launches


def lines(case: str, launches: list[Launch], folder: Path | None) -> Iterator[str]:
    """A line for each launch. Tensors keep their number through the launches of a case. folder:
    where the PTX is kept under its digest."""
    numbers: dict[int, int] = {}
    digests: dict[str, str] = {}

    def shown(value: Any) -> str:
        if not torch.is_tensor(value):
            return str(value)
        assert isinstance(value, Tensor)
        number = numbers.setdefault(value.data_ptr(), len(numbers))
        return f"#{number}:{value.dtype}{tuple(value.shape)}"

    for launch in launches:
        constants = launch.constants
        values = [shown(v) for name, v in launch.arguments.items() if name not in constants]
        name = launch.kernel.__name__
        key = f"{name} {constants} {launch.options} {values}"
        if key not in digests:
            ptx = "\n".join(effects(instructions(compiled(launch).asm["ptx"], name)))
            digests[key] = _digest(ptx)
            if folder is not None:
                (folder / f"{digests[key]}.ptx").write_text(ptx)
        warps = launch.options["num_warps"]
        yield f"{case}: {digests[key]} warps {warps} grid {launch.grid} {' '.join(values)}"


def every_line(only: str = "", folder: Path | None = None) -> Iterator[str]:
    knobs.runtime.add_stages_inspection_hook = without_assembler
    every_case = ((FUSED, fused_engine), (STACKED, stacked_engine), (LOOKED_UP, fused_engine))
    for cases, engine_of in every_case:
        for case, (task, network) in cases.items():
            if only in case:
                yield from lines(case, training_step(engine_of(task, network)), folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="where the lines go")
    parser.add_argument("--compare", type=Path, help="lines of another version")
    parser.add_argument("--keep", type=Path, help="folder for the PTX, one file per digest")
    parser.add_argument("--only", default="", help="a part of the names of the cases")
    options = parser.parse_args()
    written = []
    for line in every_line(options.only, options.keep):
        written.append(line)
        if not options.compare:
            print(line[:120])
    if options.write:
        options.write.write_text("\n".join(written) + "\n")
    if not options.compare:
        return 0
    expected = [
        line
        for line in options.compare.read_text().splitlines()
        if options.only in line.split(":")[0]
    ]
    changes = [pair for pair in zip(expected, written, strict=False) if pair[0] != pair[1]]
    for before, after in changes:
        print(f"- {before}\n+ {after}")
    print(f"{len(written)} launches, {len(expected)} before, {len(changes)} differences")
    return int(bool(changes) or len(written) != len(expected))


if __name__ == "__main__":
    sys.exit(main())
