"""Made-up sweeps and networks, written as galleries, for tests of the paper's items; and how
their claims are found.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pandas
import torch

from algophase.networks import Network
from algophase.paper.items import find_items
from algophase.paper.make import Made, make
from algophase.paper.product import Claim
from algophase.paper.sources import Sources
from algophase.storage import save
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.shipped_spaces import PAPER_SPACES

SETTINGS: dict[str, dict[str, Any]] = {
    "layers-2": {"layers": 2},
    "layers-3": {"layers": 3},
    "layers-4": {"layers": 4},
    "gelu": {"activation": "gelu"},
    "separate-vocabularies": {"separate_vocabularies": True},
    "equals-sign": {"equals_sign": True},
}


def transformers(
    count: int,
    seed: int = 0,
    *,
    at: float = 0.55,
    per_doubling: float = 0.0,
    bend: float = 0.0,
    widths: bool = False,
    circular: float = 0.35,
    inaccurate: float = 0.02,
    asymmetric_pizzas: float = 0.0,
    pizza_irrelevance: float = 0.2,
    clock_irrelevance: float = 0.75,
    clock_symmetricity: float = 0.6,
    noise: float = 0.03,
    rough: float = 0.0,
    **settings: Any,
) -> pandas.DataFrame:
    """Runs that turn from Pizza to Clock at rate `at`, moving with log2 width by per_doubling (and
    bend, quadratically).

    rough: the chance that a run that is not circular has the other phase's metrics.
    """
    draw = numpy.random.default_rng(seed)
    rate = draw.uniform(0, 1, count)
    width = (
        numpy.exp2(draw.uniform(5, 9, count)).round().astype(int)
        if widths
        else numpy.full(count, 128)
    )
    away = numpy.log2(width / 128)
    pizza = rate < at + per_doubling * away + bend * away**2 + draw.normal(0, noise, count)
    is_circular = draw.uniform(size=count) < circular
    shown = pizza ^ (~is_circular & (draw.uniform(size=count) < rough))
    small = draw.normal(size=(4, count))
    symmetricity = numpy.where(
        shown, 0.993 + 0.001 * small[0], clock_symmetricity + 0.03 * small[0]
    )
    symmetricity = numpy.where(
        shown & (draw.uniform(size=count) < asymmetric_pizzas), 0.9, symmetricity
    )
    irrelevance = numpy.where(shown, pizza_irrelevance, clock_irrelevance) + 0.03 * small[1]
    circularity = numpy.where(is_circular, 0.998 + 0.0005 * small[2], 0.95 + 0.005 * small[2])
    separate = bool(settings.get("separate_vocabularies", False))
    return pandas.DataFrame(
        {
            "attention_rate": rate,
            "width": width,
            "layers": 1,
            "kind": "transformer",
            "modulus": 59,
            "activation": "relu",
            "separate_vocabularies": False,
            "equals_sign": False,
            "validation_accuracy": numpy.where(draw.uniform(size=count) < inaccurate, 0.7, 1.0),
            "gradient_symmetricity": symmetricity,
            "distance_irrelevance": irrelevance,
            "distance_irrelevance_wrong_logit": irrelevance + 0.02,
            "circularity": numpy.nan if separate else circularity,
            "operand_circularity": [[float(value)] * (1 + separate) for value in circularity],
            "parameter_norm": 24 + small[3],
            "pizza_share": numpy.where(pizza, 0.97, 0.05),
            "paper_label": numpy.where(
                is_circular, numpy.where(pizza, "Pizza", "Clock"), "non-circular"
            ),
            **settings,
        }
    )


def linear(
    count: int,
    seed: int,
    *,
    irrelevance: float,
    circular: float,
    spread: float = 0.05,
    **settings: Any,
) -> pandas.DataFrame:
    draw = numpy.random.default_rng(seed)
    small = draw.normal(size=(2, count))
    circularity = numpy.where(draw.uniform(size=count) < circular, 0.998, 0.95) + 0.0005 * small[1]
    prime = settings.get("model") == "alpha-prime"
    return pandas.DataFrame(
        {
            "kind": "linear",
            "modulus": 59,
            "validation_accuracy": 1.0,
            "gradient_symmetricity": 1.0,
            "distance_irrelevance": (irrelevance + spread * small[0]).clip(0, 1),
            "distance_irrelevance_wrong_logit": (irrelevance + spread * small[0]).clip(0, 1),
            "circularity": numpy.nan if prime else circularity,
            "operand_circularity": [[float(value)] * (1 + prime) for value in circularity],
            "paper_label": "Pizza",
            **settings,
        }
    )


def write_sweep(gallery: Path, space: str, runs: pandas.DataFrame) -> Path:
    directory = SweepDirectory(gallery / space)
    directory.path.mkdir(parents=True, exist_ok=True)
    directory.describe(PAPER_SPACES[space].to_dict(), 0)
    rows = []
    for index, record in enumerate(runs.to_dict("records")):
        filled: dict[str, Any] = {
            str(name): None if value is None or value != value else value
            for name, value in record.items()
        }
        rows.append({"space": space, "index": index, "run_id": f"{space}-{index}", **filled})
    directory.add(rows, {})
    return directory.path


# Linear models as the paper describes them: (median irrelevance, share circular).
AS_TOLD = {
    "alpha": (0.6, 0.4),
    "beta": (0.25, 0.9),
    "gamma": (0.25, 0.9),
    "delta": (0.93, 0.1),
    "alpha-prime": (0.6, 0.4),
}


def write_linear(gallery: Path, told: dict[str, tuple[float, float]], count: int = 150) -> None:
    for seed, (model, (irrelevance, circular)) in enumerate(told.items()):
        write_sweep(
            gallery,
            f"linear-{model}",
            linear(count, seed, irrelevance=irrelevance, circular=circular, model=model),
        )


def write_transformers(gallery: Path, space: str, count: int, seed: int = 0, **how: Any) -> None:
    if space == "varying-width":
        how = {"widths": True, "per_doubling": 0.08, **how}
    write_sweep(gallery, space, transformers(count, seed, **{**how, **SETTINGS.get(space, {})}))


def claims_of(label: str, gallery: Path, released: Path | None = None) -> tuple[Claim, ...]:
    return find_items([label])[0].make(Sources(gallery, (), released)).claims


def write_networks(directory: Path, networks: dict[str, Network]) -> Sources:
    """A gallery with these networks in these roles."""
    lines = []
    directory.mkdir(exist_ok=True)
    for role, network in networks.items():
        save(network, directory / role)
        lines.append(f'[{role}]\npath = "{role}.safetensors"\nwhat = "planted"\n')
    (directory / "exhibits.toml").write_text("\n".join(lines))
    return Sources(gallery=directory)


@torch.no_grad()
def plant(network: Network, table: torch.Tensor) -> Network:
    """Put a network on this embedding."""
    weight = network.operand_tables()[0]
    weight.zero_()
    weight[:, : table.shape[1]] = table
    return network


def make_one(label: str, sources: Sources, out: Path) -> Made:
    (made,) = make(find_items([label]), sources, out)
    return made


def find(claims: Sequence[Claim], *words: str) -> Claim:
    """The one claim whose text holds all of these words."""
    found = [claim for claim in claims if all(word in claim.text for word in words)]
    assert len(found) == 1, [claim.text for claim in claims]
    return found[0]


def verdict(claims: Sequence[Claim], *words: str) -> str:
    return find(claims, *words).verdict


def verdicts(made: Made) -> list[str]:
    assert made.problem is None
    return [claim.verdict for claim in made.claims]


def assert_same_files(first: Made, second: Made) -> None:
    """Made twice, an item has the same claims, tables and vector pictures."""
    assert first.claims == second.claims
    for file, again in zip(first.files, second.files, strict=True):
        assert file.name == again.name
        assert file.suffix == ".png" or file.read_bytes() == again.read_bytes(), file.name
