"""One CPU thread for work in which more would mostly wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """PyTorch computes on one thread meanwhile, and on as many as before after that. Nothing changes unless `wanted`.

    A Python thread that first uses PyTorch meanwhile keeps to one: the number is read then, once for each.
    """
    before = torch.get_num_threads()
    if not wanted or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
