"""Kernels are compiled side by side, and none is launched for it."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import Any

import pytest
import torch

from algophase.training.engines import _compiling as compiling
from algophase.training.kernels.launch import Launch

triton = pytest.importorskip("triton", reason="Triton is not installed")

# The kernels of a small network, for an H200 that need not be there. A second time everything is
# known already.
COMPILE = """
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import CompiledKernel
from triton.runtime import driver
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.training.engines._compiling import compile_at_once
from algophase.training.engines.fused import FusedTransformer

class H200:
    get_current_device = lambda self: 0
    get_current_stream = lambda self, device: 0
    get_current_target = lambda self: GPUTarget("cuda", 90, 32)

driver.set_active(H200())
run = RunSettings(TaskSettings(7), TransformerSettings(16))
launches = FusedTransformer([run], torch.device("cpu"), "half").launches
for _ in range(2):
    compile_at_once(launches.values())
    kernels = {launch.kernel for launch in launches.values()}
    compiled = [each for kernel in kernels for each in kernel.device_caches[0][0].values()]
    assert all(isinstance(each, CompiledKernel) for each in compiled)
    print(len(launches), len(compiled))
"""


class Kernel:
    """As Triton's: it hands what is to be compiled to the mode that is on."""

    def __init__(self, compile_it: Callable[[], str]) -> None:
        self.compile_it, self.known = compile_it, ""
        self.given: dict[str, Any] = {}

    def warmup(self, **values: Any) -> None:
        def done(found: str) -> None:
            self.known = found

        self.given = values
        triton.runtime._async_compile.active_mode.get().submit(id(self), self.compile_it, done)


def test_kernels_are_compiled_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    both = Barrier(2, timeout=60)  # which one alone would not pass
    kernels = [Kernel(lambda: f"compiled {both.wait() in (0, 1)}") for _ in range(2)]
    compiling.compile_at_once([Launch(kernel, (3, 1), {"X": "x", "D": 16}) for kernel in kernels])
    for kernel in kernels:
        assert kernel.known == "compiled True"
        assert kernel.given == {"grid": (3, 1), "X": "x", "D": 16}


def test_kernels_are_parsed_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 may raise SystemError where two threads parse at once."""
    compiling.parse_one_at_a_time()
    real_parse = ast.parse
    parsing: list[str] = []
    most_at_once = []

    def slow_parse(source: str) -> ast.Module:
        parsing.append(source)
        most_at_once.append(len(parsing))
        sleep(0.02)  # time for the other threads to come in
        parsing.remove(source)
        return real_parse(source)

    kernel = triton.runtime.jit.JITFunction(_a_kernel)
    with monkeypatch.context() as patched, ThreadPoolExecutor(4) as pool:
        patched.setattr(ast, "parse", slow_parse)
        trees = list(pool.map(lambda _: kernel.parse(), range(8)))
    assert most_at_once == [1] * 8
    assert {type(tree) for tree in trees} == {ast.Module}


def _a_kernel(X):  # type: ignore[no-untyped-def]
    return X


class Compiled:
    """As Triton's: what launches it is made when it is first asked for. `result` is what a
    kernel of this minute has.
    """

    def __init__(self, loaded: list[object]) -> None:
        self.loaded = loaded

    @property
    def run(self) -> None:
        self.loaded.append(self)


class Promised:
    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled

    def result(self) -> Compiled:
        return self.compiled


def test_kernels_are_loaded_before_the_first_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    known, new = Compiled(loaded), Compiled(loaded)
    monkeypatch.setattr("torch.cuda.device", lambda device: nullcontext())
    monkeypatch.setattr(compiling, "compile_at_once", lambda steps: [known, Promised(new)])
    compiling.compile_for(torch.device("cpu"), [])
    assert loaded == []
    compiling.compile_for(torch.device("cuda", 0), [])
    assert {*loaded} == {known, new}


@pytest.mark.slow
def test_every_kernel_of_an_engine_is_compiled_without_a_gpu(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    said = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr[-2000:]
    launches, *counts = map(int, said.stdout.split())
    assert counts == [launches, launches, launches]
    assert len(list(tmp_path.rglob("*.cubin"))) == launches
