"""Items made once for all tests of the paper: from the authors' networks, from our gallery, from
made-up populations.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_items import AS_TOLD, write_linear, write_transformers

from algophase.paper.items import find_items
from algophase.paper.make import Made
from algophase.paper.product import Claim
from algophase.paper.sources import Sources

OF_A_AND_B = [
    "efflc",
    "corlogit",
    "corlogitpizza",
    "corlogitclock",
    "isolation",
    "isolationside",
    "corlogitpizzaside",
]
Told = Callable[..., tuple[Claim, ...]]


class Items(dict[str, Made]):
    """Items by label. Each is made when a test first asks for it, so that a worker makes no more
    than its tests need. Their pictures are not written: that takes longer than all else.
    """

    def __init__(self, sources: Sources) -> None:
        super().__init__()
        self.sources = sources

    def __missing__(self, label: str) -> Made:
        (item,) = find_items([label])
        product = item.make(self.sources)
        made = Made(item, product.source, (), product.claims)
        self[label] = made
        return made


@pytest.fixture(scope="session")
def published(released: Path) -> Items:
    """Items of the networks the authors released."""
    return Items(Sources(released=released))


@pytest.fixture(scope="session")
def ours() -> Items:
    """Items of the gallery's networks."""
    return Items(Sources())


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Claims of an item on a made-up population: told(label, space, count, **how it is made).
    Each is made once.
    """
    known: dict[str, tuple[Claim, ...]] = {}

    def claims(
        label: str, space: str, count: int, beside: int = 0, **how: Any
    ) -> tuple[Claim, ...]:
        """beside: so many runs of the main experiment as well."""
        key = repr((label, space, count, beside, how))
        if key not in known:
            gallery = tmp_path_factory.mktemp("gallery")
            if beside:
                write_transformers(gallery, "fixed-width", beside)
            write_transformers(gallery, space, count, int(bool(beside)), **how)
            known[key] = find_items([label])[0].make(Sources(gallery)).claims
        return known[key]

    return claims


@pytest.fixture(scope="session")
def linear_claims(tmp_path_factory: pytest.TempPathFactory) -> tuple[Claim, ...]:
    """Claims on linear models that are as the paper says."""
    gallery = tmp_path_factory.mktemp("linear")
    write_linear(gallery, AS_TOLD)
    return find_items(["lineararchs"])[0].make(Sources(gallery)).claims


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A gallery without anything in it."""
    (tmp_path / "gallery").mkdir()
    return tmp_path / "gallery"
