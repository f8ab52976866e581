"""Training dynamics: claims judged on populations made up to satisfy and to violate them, and
pictures of small networks.
"""

from pathlib import Path
from typing import Any

import pandas
import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_pizza
from algophase.paper.dynamics_items import accompanying_pizza, clock_training, dissolving, followed
from algophase.paper.items import find_items
from algophase.paper.make import make
from algophase.paper.product import Claim, entry
from algophase.paper.rules import claims_of, judge_all
from algophase.paper.sources import Missing, Sources
from algophase.storage import save
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.shipped_spaces import PAPER_SPACES

EPOCHS = (200, 600, 1000, 2000, 20_000)
# The strongest pair's share of the Pizza along training, by the way a run goes.
WAYS = {
    "dissolves": (1.0, 0.9, 0.7, 0.2, 0.0),
    "stays": (1.0, 1.0, 1.0, 1.0, 1.0),
    "never": (0.2, 0.1, 0.0, 0.0, 0.0),
    "back": (0.9, 0.1, 0.9, 0.1, 0.0),
}


def role(share: float) -> str:
    return "Pizza" if share > 2 / 3 else "Clock" if share < 1 / 3 else "mixed"


def run_of(
    space: str, index: int, way: str = "dissolves", costs: tuple[float | None, ...] = (0,) * 5
) -> list[dict[str, Any]]:
    """One run's moments. The first pair is weak and always a Clock; the second is what `way` says.

    costs: points lost without its companion, None where it has none.
    """
    rows = []
    for epoch, share, cost in zip(EPOCHS, WAYS[way], costs, strict=True):
        row = {
            "space": space,
            "index": index,
            "run_id": f"run{index}",
            "epoch": epoch,
            "epochs_trained": EPOCHS[-1],
            "validation_accuracy": 1.0 if epoch > 600 else 0.99,
            "accuracy": 1.0,
            "gradient_symmetricity": 0.5 + share / 2,
            "distance_irrelevance": 1 - share / 2,
            "paper_label": "Pizza" if share > 0.5 else "Clock",
            "pairs.frequency": [3, 8, 11],
            "pairs.clock_weight": [1.0, 10 * (1 - share), None],
            "pairs.pizza_weight": [0.0, 10 * share, None],
            "pairs.pizza_share": [0.0, share, None],
            "pairs.role": ["Clock", role(share), "unclear"],
            "pairs.explained": [0.9, 0.9, 0.0],
            "accompanying": int(cost is not None),
            "accuracy_without_accompanying": 1.0 - (cost or 0) / 100,
        }
        rows.append(row)
    return rows


def exhibits(gallery: Path) -> None:
    """Small networks in the places of a rate-1 network along training and a rate-0 network after
    600 epochs.
    """
    run = RunSettings(
        TaskSettings(modulus=13), TransformerSettings(width=12), TrainingSettings(epochs=20_000)
    )
    names = []
    for epoch in (200, 600, None):
        network = initialize(run)
        with torch.no_grad():
            network.operand_tables()[0].mul_(1 + (epoch or 1000) / 1000)
        names.append(network.id + ("" if epoch is None else f".epoch{epoch}") + ".safetensors")
        save(network, gallery / names[-1], overwrite=True)
    save(handmade_pizza(12, (1, 5), accompanied=True), gallery / "pizza.epoch600", overwrite=True)
    clock = f'[early-clock]\npaths = {names}\nwhat = "small"\n'
    pizza = '[early-pizza]\npath = "pizza.epoch600.safetensors"\nwhat = "by hand"\n'
    (gallery / "exhibits.toml").write_text(clock + pizza)


def sources_with(gallery: Path, space: str, runs: list[list[dict[str, Any]]]) -> Sources:
    directory = SweepDirectory(gallery / space)
    moments = [row for rows in runs for row in rows]
    ends = [rows[-1] for rows in runs]
    with directory.hold("a test"):
        directory.describe(PAPER_SPACES[space].to_dict(), 0, EPOCHS[:-1])
        directory.add(ends, {}, moments)
    exhibits(gallery)
    return Sources(gallery)


def claims(found: tuple[Claim, ...]) -> dict[str, Claim]:
    return {claim.text: claim for claim in found}


def clock_claims(tmp_path: Path, *ways: str) -> dict[str, Claim]:
    runs = [run_of("clock-training", index, way) for index, way in enumerate(ways)]
    sources = sources_with(tmp_path, "clock-training", runs)
    return claims(claims_of("clock-training", sources))


def test_pizzas_that_dissolve_in_most_runs_support_the_picture(tmp_path: Path) -> None:
    found = clock_claims(tmp_path, *["dissolves"] * 15, "never")
    assert {claim.verdict for claim in found.values()} == {"supported"}
    early = found["a Pizza-like pattern is there early in the training of a network with attention"]
    assert (early.ours.split(" of ")[1], early.sample) == ("16", 16)
    assert early.ours.startswith("93.8%")
    assert "up to 2,000" in early.note
    assert found["the pattern disappears during the run"].ours.startswith("100.0%")
    assert (
        found["the pattern disappears gradually"].ours
        == "median 1.00 at epoch 200, below a half at 2,000, 0.00 at the end"
    )


def test_runs_that_do_otherwise_are_said_to(tmp_path: Path) -> None:
    found = clock_claims(tmp_path / "stay", *["stays"] * 12, "dissolves")
    assert (
        found[
            "a Pizza-like pattern is there early in the training of a network with attention"
        ].verdict
        == "supported"
    )
    assert found["the pattern disappears during the run"].verdict == "not supported"
    assert (
        "12 Pizza, 1 Clock"
        in found[
            "a Pizza early that is gone at the end is the way of most networks with attention "
            "(our question)"
        ].note
    )
    found = clock_claims(tmp_path / "never", *["never"] * 12)
    assert (
        found[
            "a Pizza-like pattern is there early in the training of a network with attention"
        ].verdict
        == "not supported"
    )
    assert found["the pattern disappears during the run"].verdict == "not tested"
    assert found["the pattern disappears gradually"].verdict == "not tested"
    assert found["the pattern disappears gradually"].sample == 0
    found = clock_claims(tmp_path / "half", *["dissolves", "never"] * 5)
    assert (
        found[
            "a Pizza early that is gone at the end is the way of most networks with attention "
            "(our question)"
        ].verdict
        == "undecided"
    )
    found = clock_claims(tmp_path / "back", *["back"] * 10)
    assert found["the pattern disappears during the run"].verdict == "supported"
    assert found["the pattern disappears gradually"].verdict == "not supported"


def test_only_runs_with_an_end_count_and_the_strongest_pair_speaks() -> None:
    rows = [
        row
        for index, way in enumerate(("dissolves", "stays"))
        for row in run_of("clock-training", index, way)
    ]
    table = followed(pandas.DataFrame(rows[:-1]))
    assert set(table["run_id"]) == {"run0"}
    assert table["role"].tolist() == ["Pizza", "Pizza", "Pizza", "Clock", "Clock"]
    pizza, gone = dissolving(table)
    assert (pizza["run0"], gone["run0"]) == (True, True)
    with pytest.raises(InputError, match="no run of these moments was followed to its end"):
        followed(pandas.DataFrame(rows[:3]))
    with pytest.raises(
        InputError, match=r"no column accompanying, pairs\.role: they are another version's"
    ):
        followed(pandas.DataFrame(rows).drop(columns=["accompanying", "pairs.role"]))


def pizza_claims(tmp_path: Path, *costs: tuple[Any, ...]) -> dict[str, Claim]:
    runs = [run_of("pizza-training", index, "stays", cost) for index, cost in enumerate(costs)]
    sources = sources_with(tmp_path, "pizza-training", runs)
    return claims(claims_of("accompanying-pizza", sources))


EMERGES = (
    "an accompanying Pizza emerges early in the training of a network without attention "
    "(at 600 epochs)"
)
USE = "it is of use: removing it at 600 epochs costs accuracy"
LATER = "accompanying Pizzas are less helpful later"


def test_companions_that_are_worth_less_later_support_the_paper(tmp_path: Path) -> None:
    found = pizza_claims(tmp_path, *[(None, 1.8, 1.0, 0.5, 0.3)] * 12, (None,) * 5)
    assert {found[name].verdict for name in (EMERGES, USE, LATER)} == {"supported"}
    assert found[EMERGES].sample == 13
    assert found[USE].sample == 12
    assert "median 1.80" in found[USE].note
    assert "at the end: median 0.30" in found[LATER].note
    assert found["accuracy of a rate-0 network after 600 epochs"].verdict == "not tested"
    assert found["accuracy of a rate-0 network after 600 epochs"].published == "99.7%"
    assert found["the same without its accompanying circle"].published == "97.9%"


def test_companions_that_stay_useful_do_not(tmp_path: Path) -> None:
    found = pizza_claims(tmp_path / "stay", *[(None, 0.0, 1.0, 2.0, 3.0)] * 12)
    assert (found[EMERGES].verdict, found[USE].verdict, found[LATER].verdict) == (
        "supported",
        "not supported",
        "not supported",
    )
    found = pizza_claims(tmp_path / "none", *[(None,) * 5] * 12)
    assert (found[EMERGES].verdict, found[USE].verdict, found[LATER].verdict) == (
        "not supported",
        "not tested",
        "not tested",
    )
    assert found[USE].ours == "no runs"


def test_where_a_companion_is_gone_at_the_end_it_costs_nothing(tmp_path: Path) -> None:
    found = pizza_claims(tmp_path, *[(None, 1.8, 1.0, 0.5, None)] * 12)
    assert found[LATER].verdict == "supported"
    assert "with one at both: no runs" in found[LATER].note


def test_the_items_are_drawn_and_written(tmp_path: Path) -> None:
    gallery = tmp_path / "gallery"
    sources_with(
        gallery,
        "clock-training",
        [run_of("clock-training", index, way) for index, way in enumerate(WAYS)],
    )
    costs: list[tuple[Any, ...]] = [
        (None, 1.8, 1.0, 0.5, 0.3),
        (None, 1.0, 1.0, 0.5, 0.3),
        (None,) * 5,
    ]
    sources = sources_with(
        gallery,
        "pizza-training",
        [run_of("pizza-training", n, "stays", cost) for n, cost in enumerate(costs)],
    )
    items = find_items(["clock-training", "accompanying-pizza"])
    assert not any(sources.lacking(item.needs) for item in items)
    made = make(items, sources, tmp_path / "out")
    assert [one.problem for one in made] == [None, None]
    names = {path.name for one in made for path in one.files}
    for label in ("clock-training", "accompanying-pizza"):
        assert {
            f"{label}.png",
            f"{label}.svg",
            f"{label}-population.png",
            f"{label}-population.md",
        } <= names
    table = (tmp_path / "out" / "accompanying-pizza-population.md").read_text()
    assert "| 600 | 3 | 67% |" in table
    assert "3 runs of pizza-training at 5 epochs each" in made[1].source


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    runs = [run_of("pizza-training", 0, "stays", (None, 1.8, 1.0, 0.5, 0.3))]
    sources = sources_with(
        tmp_path, "pizza-training", [[row for row in rows if row["epoch"] != 600] for rows in runs]
    )
    with pytest.raises(
        Missing,
        match="have no epoch 600; make them with: algophase sweep pizza-training --snapshot 600",
    ):
        accompanying_pizza(sources)
    with pytest.raises(Missing, match="there is no sweep of clock-training"):
        clock_training(sources)
    SweepDirectory(tmp_path / "clock-training").describe(
        PAPER_SPACES["clock-training"].to_dict(), 0
    )
    with pytest.raises(
        Missing,
        match="was not followed along training; make it with: algophase sweep clock-training",
    ):
        clock_training(sources)
    (tmp_path / "exhibits.toml").write_text(
        '[early-clock]\nwhat = "x"\n[early-pizza]\npaths = ["a"]\nwhat = "x"\n'
    )
    (tmp_path / "a").touch()
    broken = Sources(tmp_path)
    with pytest.raises(InputError, match=r"paths of early-clock is \[\]; it must be a list"):
        broken.series("early-clock")
    with pytest.raises(InputError, match="early-pizza has no path"):
        broken.network("early-pizza")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Missing, match=r"the gallery has no early-clock yet"):
        Sources(tmp_path / "empty").series("early-clock")


def test_a_series_is_in_the_order_of_its_epochs(tmp_path: Path) -> None:
    exhibits(tmp_path)
    series = Sources(tmp_path).series("early-clock")
    assert list(series.networks) == [200, 600, 20_000]
    assert "2 snapshots (small)" in series.source
    save(handmade_pizza(7, (1,)), tmp_path / "unnamed")
    (tmp_path / "exhibits.toml").write_text(
        '[early-clock]\npath = "unnamed.safetensors"\nwhat = "x"\n'
    )
    with pytest.raises(InputError, match="does not say after how many epochs it is"):
        Sources(tmp_path).series("early-clock")


def test_the_published_model_a_is_judged(released: Path) -> None:
    described = [entry("trained-pizza-accuracy-without")]
    (claim,) = judge_all(described, Sources(released=released))
    assert (claim.verdict, claim.ours, claim.note) == (
        "reproduced",
        "99.7%",
        "3 accompanying circles removed",
    )
