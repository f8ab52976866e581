"""algophase: which algorithm did this neural network learn?

The public names are listed once, in `__init__.pyi`. Each is imported when it is first used: the
command line's help and its errors need not wait for torch.
"""

import ast
import os
from importlib import import_module

# Read when torch is loaded. By default OpenMP's threads wait for each other at full speed, which
# takes the cores from whatever they wait for as soon as another program runs (docs/speed.md).
if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"} & os.environ.keys():
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

__version__ = "0.1.0"


def _modules_by_name() -> dict[str, str]:
    """The module that each public name comes from, as `__init__.pyi` imports it."""
    stub = os.path.splitext(__file__)[0] + ".pyi"
    with open(stub, encoding="utf-8") as file:
        statements = ast.parse(file.read(), stub).body
    modules = {}
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                modules[alias.name] = statement.module
    return modules


_MODULES = _modules_by_name()
__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value  # the next use finds it without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
