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
OF_RELEASED = [*OF_A_AND_B, "corlogitbeta", "corlogitdelta", "pcaeu", "aligned", "approx2"]
Told = Callable[..., tuple[Claim, ...]]


def _unwritten(labels: list[str], sources: Sources) -> dict[str, Made]:
    """Items whose pictures are not written: that takes longer than all else."""
    products = {item: item.make(sources) for item in find_items(labels)}
    return {
        item.label: Made(item, product.source, (), product.claims)
        for item, product in products.items()
    }


@pytest.fixture(scope="session")
def published(released: Path) -> dict[str, Made]:
    """Items of the networks the authors released, by label."""
    return _unwritten(OF_RELEASED, Sources(released=released))


@pytest.fixture(scope="session")
def ours() -> dict[str, Made]:
    """The same of the gallery's networks that stand for Models A and B."""
    return _unwritten(OF_A_AND_B, Sources())


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
