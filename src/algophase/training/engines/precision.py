"""What the device can do: matrix-product precision on a GPU, set for a block of code and put
back after it; Triton or none.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def matmul_precision(device: torch.device, precision: str) -> Iterator[None]:
    """TF32 products inside for precision tf32; float32 products for all others."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def missing_triton() -> str | None:
    try:
        import triton  # noqa: F401
    except ImportError:
        return "Triton is not installed"
    return None
