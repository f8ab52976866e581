"""Spaces beyond the paper's: how what networks learn depends on the modulus, the data, the weight
decay and the heads, how it emerges in the first epochs, and what their hidden layers hold.

All but the last are grids with the same number of runs in every cell, whole cells at any multiple
of the number of cells. Runs of one modulus, training fraction or number of heads have one shape and
train together; runs of any weight decay do.
"""

from dataclasses import replace
from pathlib import Path

from algophase.core.errors import InputError
from algophase.sweeps.distributions import Distribution, Fixed, Grid, Uniform
from algophase.sweeps.paper_spaces import PAPER_SPACES
from algophase.sweeps.spaces import Space, load_space

PER_CELL = 100
PRIMES = (17, 23, 31, 43, 59, 73, 89, 101, 113, 127)
COMPOSITES = (60, 64, 100)
_FIRST = (
    10,
    25,
    50,
    75,
    100,
    125,
    150,
    175,
    200,
    250,
    300,
    350,
    400,
    500,
)  # the end, at 600, is looked at anyway
_RATE: dict[str, Distribution] = {"network.attention_rate": Uniform(0.0, 1.0)}


def _space(name: str, settings: dict[str, Distribution], title: str) -> Space:
    return Space(name, settings, title=title, runs=PER_CELL * Space(name, settings).cells)


_SPACES = [
    _space(
        "moduli",
        {
            "task.modulus": Grid((*PRIMES, *COMPOSITES)),
            "network.attention_rate": Grid((0.0, 0.5, 1.0)),
        },
        "one layer, width 128, ten primes from 17 to 127 and 60, 64, 100, attention rates 0, "
        "0.5 and 1",
    ),
    _space(
        "data",
        {"task.training_fraction": Grid((0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)), **_RATE},
        "one layer, width 128, trained on 30% to 90% of the pairs, attention rate uniform in "
        "[0, 1]",
    ),
    _space(
        "decay",
        {"training.weight_decay": Grid((0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0)), **_RATE},
        "one layer, width 128, weight decay 0 to 4, attention rate uniform in [0, 1]",
    ),
    _space(
        "heads",
        {"network.heads": Grid((1, 2, 4, 8)), **_RATE},
        "one layer, width 128, 1 to 8 heads that share the width, attention rate uniform in [0, 1]",
    ),
    replace(
        _space(
            "emergence",
            {"training.epochs": Fixed(600), "network.attention_rate": Grid((0.0, 0.5, 1.0))},
            "one layer, width 128, attention rates 0, 0.5 and 1, the first 600 epochs, looked "
            "at 15 times",
        ),
        snapshots=_FIRST,
    ),
    Space(
        "hidden-layer",
        {
            "network.attention_rate": Uniform(0.5, 1.0)
        },  # below, gradients are symmetric and there is no product to take out
        title="one layer, width 128, attention rate uniform in [0.5, 1], with a look inside "
        "each hidden layer",
        runs=500,
        hidden=True,
    ),
]
FIELD_SPACES = {space.name: space for space in _SPACES}
SPACES = {**PAPER_SPACES, **FIELD_SPACES}


def find_space(name: str) -> Space:
    """A space by its name, or a user's own from a TOML file."""
    if name in SPACES:
        return SPACES[name]
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return load_space(path)
    raise InputError(
        f"space is {name!r}; choose one of {', '.join(SPACES)}, or give a .toml file of your own"
    )
