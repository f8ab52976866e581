"""One way to launch a kernel: every parameter takes the value that has its name.

An engine keeps its tensors and sizes under the names of the kernels' parameters. A launch adds what
is the kernel's own: tiles, stages and warps.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

TRITON_OPTIONS = ("num_warps", "num_stages")
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Launch(NamedTuple):
    """A kernel with everything that it is launched with. values: parameters and options by name."""

    kernel: Any
    grid: tuple[int, ...]
    values: dict[str, Any]

    def run(self) -> None:
        self.kernel[self.grid](**self.values)


def launch(
    kernel: Any, grid: tuple[int, ...], common: Mapping[str, Any] = NOTHING, /, **sizes: Any
) -> Launch:
    """A launch of a Triton kernel, ready to run.

    Arguments:
        kernel: the function marked `triton.jit`.
        grid: programs along each axis.
        common: tensors and sizes that the kernel may take, by the names of its parameters.
        sizes: what this launch alone has. It comes before `common`, and the kernel must take it.
    """
    parameters: Collection[str] = kernel.arg_names
    unknown = sizes.keys() - {*parameters, *TRITON_OPTIONS}
    if unknown:
        raise TypeError(f"{kernel.__name__} takes no {', '.join(sorted(unknown))}")
    values = {name: sizes[name] if name in sizes else common[name] for name in parameters}
    options = {name: sizes[name] for name in TRITON_OPTIONS if name in sizes}
    return Launch(kernel, grid, values | options)
