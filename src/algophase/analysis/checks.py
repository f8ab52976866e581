"""Whether something is a network that can be analyzed, and how it is seen: as it answers at
inference.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.neutral import difference, evaluating, unsteady, untouched
from algophase.core.settings import shown
from algophase.networks import Network

# The largest logit, and the largest number of an embedding. Sums of squares of p^3 logits stay
# within float64 (1e308), with room for their products; verdicts are the same from 1e-150 to 1e150.
SMALLEST, LARGEST = 1e-120, 1e120
METHODS = ("operand_tables", "logits_from_embeddings")
HOW_TO = 'docs/howto-network.md, "Another architecture"'


@contextmanager
def at_inference(network: Network) -> Iterator[None]:
    """Without dropout and the like, whatever mode the network is in. It is left as it was."""
    with evaluating(network) if network.is_pure else untouched(network):
        yield


def exact_tables(network: Network) -> tuple[Tensor, ...]:
    """The distinct operand tables as they are at inference, in float64 on the CPU."""
    with at_inference(network):
        return tuple(table.detach().cpu().double() for table in network.distinct_tables())


def check_network(network: object) -> None:
    """Stop at anything that no analysis can work on, before it fails somewhere inside, and say
    what is missing.
    """
    if isinstance(network, str | os.PathLike):
        raise InputError(
            f"{shown(os.fspath(network))} is a path, not a network; load(path) reads the "
            "network in a file"
        )
    if not isinstance(network, Network):
        what = f"an object of class {type(network).__name__} is"
        if network is None:
            what = f"{shown(network)} is"
        if callable(network):
            raise InputError(
                f"{what} not a network; say what it adds modulo: analyze(module, modulus=59), "
                f"or wrap it ({HOW_TO})"
            )
        raise InputError(
            f"{what} not a network; give one of a subclass of algophase.Network with the "
            f"methods {' and '.join(METHODS)} ({HOW_TO})"
        )
    name = f"network {network.id}"
    for method in METHODS:
        if getattr(getattr(network, method), "__func__", None) is getattr(Network, method):
            raise InputError(
                f"{name}: its class {type(network).__name__} has no method {method} of its own "
                f"({HOW_TO})"
            )
    if not any(parameter.is_floating_point() for parameter in network.parameters()):
        raise InputError(
            f"{name}: it has no parameters; its weights must be torch.nn.Parameters ({HOW_TO})"
        )
    with torch.no_grad(), at_inference(network):
        _check_tables(name, network.operand_tables(), network.task.modulus)


@torch.no_grad()
def check_steady(network: Network) -> None:
    """That the same pairs get the same logits twice: numbers measured on anything else mean
    nothing.
    """
    if network.is_pure:
        return

    def logits() -> object:
        first, second = network.operand_tables()
        return network.logits_from_embeddings(first, second.flip(0))

    with at_inference(network):
        once, again = logits(), logits()
    # `Network.checked_logits` says what is wrong with anything else than tensors.
    if isinstance(once, Tensor) and isinstance(again, Tensor):
        apart = difference(once, again)
        if apart:
            raise InputError(f"network {network.id}: {unsteady(apart)}")


def _check_tables(name: str, tables: object, modulus: int) -> None:
    if (
        not isinstance(tables, tuple | list)
        or len(tables) != 2
        or not all(isinstance(table, Tensor) for table in tables)
    ):
        raise InputError(
            f"{name}: operand_tables must give two tensors, one per operand, each ({modulus}, "
            "width)"
        )
    shapes = [tuple(table.shape) for table in tables]
    if (
        any(len(shape) != 2 or shape[0] != modulus or shape[1] == 0 for shape in shapes)
        or shapes[0] != shapes[1]
    ):
        shapes_text = " and ".join(map(str, shapes))
        raise InputError(
            f"{name}: operand_tables gives tables of shape {shapes_text}; both must be ({modulus}, "
            "width), of one width"
        )
    if not all(table.is_floating_point() for table in tables):
        raise InputError(
            f"{name}: operand_tables gives tables of {tables[0].dtype} and {tables[1].dtype}; "
            "both must be floats"
        )


def not_finite(network: Network, logits: Tensor) -> InputError:
    """Why logits that are not finite cannot be analyzed, with what is known. The parameters
    themselves are finite.
    """
    counts = {
        "a NaN": int(logits.isnan().any(dim=-1).sum()),
        "an infinity": int(logits.isinf().any(dim=-1).sum()),
    }
    problems = [f"{count} hold {what}" for what, count in counts.items() if count]
    largest = 0.0
    for parameter in network.parameters():
        if parameter.is_floating_point() and parameter.numel():
            largest = max(largest, parameter.detach().abs().max().item())
    pairs = network.task.modulus**2
    return InputError(
        f"network {network.id}: its logits are not finite: of those of {pairs} pairs, "
        f"{' and '.join(problems)}; its weights are finite, the largest is {largest:.3g}"
    )


def check_finite_tables(network: Network, tables: tuple[Tensor, ...]) -> None:
    """A table that is a parameter is known to be finite by now; one that is a buffer, or
    computed, is not.
    """
    largest = max(table.abs().max().item() for table in tables)
    if not math.isfinite(largest):
        bad = sum(int((~torch.isfinite(table)).sum()) for table in tables)
        raise InputError(
            f"network {network.id}: its embedding holds {bad} values that are NaN or infinite"
        )
    error = wrong_size(network, "embedding", largest)
    if error is not None:
        raise error


def wrong_size(network: Network, what: str, largest: float) -> InputError | None:
    """Why numbers of this size cannot be analyzed: an analysis adds up squares, which overflow
    or vanish.
    """
    if largest == 0 or SMALLEST <= largest <= LARGEST:
        return None
    problem = (
        "small that their squares vanish"
        if largest < SMALLEST
        else "large that their squares overflow"
    )
    return InputError(
        f"network {network.id}: the largest number of its {what} is {largest:.3g}, so {problem} "
        f"in float64; it must be between {SMALLEST:g} and {LARGEST:g}: scale its {what} by a "
        "constant"
    )
