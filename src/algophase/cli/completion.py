"""What the shell offers while a user types: names that are not files. Where none fits, the shell
offers files.
"""

from collections.abc import Iterable

from algophase.core.gallery import NETWORKS, shipped_sweeps


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]


def networks(incomplete: str) -> list[str]:
    """The shipped networks."""
    return _beginning(NETWORKS, incomplete)


def sweeps(incomplete: str) -> list[str]:
    """The shipped sweeps."""
    return _beginning(shipped_sweeps(), incomplete)


def networks_and_sweeps(incomplete: str) -> list[str]:
    return [*networks(incomplete), *sweeps(incomplete)]


def spaces(incomplete: str) -> list[str]:
    """The spaces of `algophase sweep`."""
    from algophase.sweeps.shipped_spaces import SPACES

    return _beginning(SPACES, incomplete)


def devices(incomplete: str) -> list[str]:
    return _beginning(("auto", "cpu", "cuda"), incomplete)


def engines(incomplete: str) -> list[str]:
    return _beginning(("auto", "plain", "stacked", "grid", "fused"), incomplete)


def operations(incomplete: str) -> list[str]:
    return _beginning(("add", "subtract", "multiply", "auto"), incomplete)


def precisions(incomplete: str) -> list[str]:
    return _beginning(("float32", "float64", "tf32", "half"), incomplete)
