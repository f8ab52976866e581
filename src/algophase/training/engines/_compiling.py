"""Kernels compiled side by side before the first of them is launched.

Triton compiles a kernel when it is first launched, on one thread, and keeps it on disk. Most of
that time is spent outside of Python, so that threads share it: the dozen kernels of a new shape
take as long as the slowest few.
"""

import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch

from algophase.training.kernels.launch import Launch


def compile_for(device: torch.device, launches: Collection[Launch]) -> None:
    """`compile_at_once` where the device is a GPU, with the kernels loaded onto it: a first launch
    would load them, and build what starts them with the C compiler (Triton 3.6), one by one."""
    if device.type == "cuda":
        with torch.cuda.device(device), ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(partial(_load, device), compile_at_once(launches)))


def _load(device: torch.device, kernel: Any) -> None:
    # what was compiled just now stands behind a future
    compiled = kernel.result() if hasattr(kernel, "result") else kernel
    with torch.cuda.device(device):  # every thread has a current device of its own
        _ = compiled.run


def compile_at_once(launches: Collection[Launch]) -> list[Any]:
    """Compile every kernel for the current device, or read it from Triton's cache. Nothing is
    launched.
    """
    import triton

    with ThreadPoolExecutor(os.cpu_count()) as pool, triton.AsyncCompileMode(pool):
        return [one.kernel.warmup(grid=one.grid, **one.values) for one in launches]
