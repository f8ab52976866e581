"""One CPU thread for work in which more would mostly wait for each other, and several such works
side by side.
"""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def one_thread(limited: bool = True) -> Iterator[None]:
    """PyTorch computes on one thread meanwhile, and on as many as before after that. Nothing
    changes unless `limited`.

    A Python thread that first uses PyTorch meanwhile keeps to one: the number is read then, once
    for each.
    """
    threads = torch.get_num_threads()
    if not limited or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def side_by_side(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """The result of `work` for each item, in order, with `workers` threads.

    Results do not depend on which item is finished first and, inside `one_thread`, not on the
    number of workers. At most twice as many results as workers wait to be taken: they may be large.
    """
    if workers == 1 or (isinstance(items, Sized) and len(items) == 1):
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        under_way = deque[Future[Result]]()
        for item in items:
            if len(under_way) == 2 * workers:
                yield under_way.popleft().result()
            under_way.append(pool.submit(work, item))
        while under_way:
            yield under_way.popleft().result()


def in_processes(
    work: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """The result of `work` for each item, in order, with so many processes of one thread each.

    One process is this one, with all its threads.
    """
    if processes == 1:
        yield from map(work, items)
        return
    with ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=torch.set_num_threads,
        initargs=(1,),
    ) as pool:
        yield from pool.map(work, items)
