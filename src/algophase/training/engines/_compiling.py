"""Kernels compiled side by side before the first of them is launched.

Triton compiles a kernel when it is first launched, on one thread, and keeps it on disk. Most of
that time is spent outside of Python, so that threads share it: the dozen kernels of a new shape
take as long as the slowest few.
"""

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from typing import Any

import torch

from algophase.core.errors import InputError, out_of_memory
from algophase.training.engines.cards import NEEDS_OLD_PRODUCTS, card_of
from algophase.training.kernels.launch import Launch

OLD_PRODUCTS = "DISABLE_MMA_V5"  # Triton's variable, read when it compiles


def compile_for(device: torch.device, launches: Collection[Launch]) -> None:
    """`compile_at_once` where the device is a GPU, with the kernels loaded onto it: a first launch
    would load them, and build what starts them with the C compiler (Triton 3.6), one by one."""
    if device.type != "cuda":
        return
    capability, _ = card_of(device).capability
    try:
        with torch.cuda.device(device), ThreadPoolExecutor(os.cpu_count()) as pool:
            with products_for(capability):
                kernels = compile_at_once(launches)
            list(pool.map(partial(_load, device), kernels))
    except Exception as error:  # Triton raises errors of several kinds, and one of its own
        if out_of_memory(error):
            raise
        reason = str(error).strip().splitlines()[:1]
        raise InputError(
            "the fused engine's kernels cannot run on this card "
            f"({''.join(reason) or type(error).__name__}); choose the engine stacked or grid"
        ) from error


@contextmanager
def products_for(capability: int) -> Iterator[None]:
    """While entered, Triton compiles matrix products in the way that works for cards of this
    (major) capability."""
    is_chosen_by_user = OLD_PRODUCTS in os.environ
    if capability != NEEDS_OLD_PRODUCTS or is_chosen_by_user:
        yield
        return
    os.environ[OLD_PRODUCTS] = "1"
    try:
        yield
    finally:
        del os.environ[OLD_PRODUCTS]


def _load(device: torch.device, kernel: Any) -> None:
    # what was compiled just now stands behind a future
    compiled = kernel.result() if hasattr(kernel, "result") else kernel
    with torch.cuda.device(device):  # every thread has a current device of its own
        _ = compiled.run


@cache
def parse_one_at_a_time() -> None:
    """From now on, Triton parses one kernel at a time, whatever number of threads compile.

    Python 3.11 counts the depth of a syntax tree for all threads together. Where a thread begins a
    tree while another makes one, `ast.parse` may raise SystemError ("AST constructor recursion
    depth mismatch"), as it did once in our slow tests. Parsing takes milliseconds of the seconds
    that a kernel takes.
    """
    from triton.runtime.jit import JITCallable

    lock = Lock()
    parse = JITCallable.parse

    def parse_alone(kernel: Any) -> Any:
        with lock:
            return parse(kernel)

    JITCallable.parse = parse_alone


def compile_at_once(launches: Collection[Launch]) -> list[Any]:
    """Compile every kernel for the current device, or read it from Triton's cache. Nothing is
    launched.
    """
    import triton

    parse_one_at_a_time()
    with ThreadPoolExecutor(os.cpu_count()) as pool, triton.AsyncCompileMode(pool):
        return [one.kernel.warmup(grid=one.grid, **one.values) for one in launches]
