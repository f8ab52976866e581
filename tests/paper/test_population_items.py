"""The items about populations: each statement of the paper can come out either way, and
denominators are the paper's.
"""

from pathlib import Path
from typing import Any

import pytest
from made_items import claims_of, make_one, transformers, verdict, write_sweep, write_transformers
from paper_fixtures import Told

from algophase.core.errors import InputError
from algophase.paper.items import find_items
from algophase.paper.make import make
from algophase.paper.sources import Missing, Sources


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (("almost always close to 1", "accurate"), {"asymmetric_pizzas": 0.5}),
        (("almost always close to 1", "circular"), {"asymmetric_pizzas": 0.5}),
        (("typical", "Pizza"), {"pizza_irrelevance": 0.55}),
        (("typical", "Clock"), {"clock_irrelevance": 0.3}),
        (("majority", "width 128"), {"inaccurate": 0.7}),
    ],
)
def test_metricvs(told: Told, words: tuple[str, ...], how: dict[str, Any]) -> None:
    assert verdict(told("metricvs", "fixed-width", 500), *words) == "supported"
    assert verdict(told("metricvs", "fixed-width", 500, **how), *words) == "not supported"


def test_metricvs_takes_the_sweeps_there_are_and_says_which(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="fixed-width"):
        claims_of("metricvs", tmp_path)
    write_transformers(tmp_path, "fixed-width", 200)
    write_transformers(tmp_path, "layers-3", 100)
    product = find_items(["metricvs"])[0].make(Sources(tmp_path))
    assert "200 runs of fixed-width" in product.source
    assert "100 runs of layers-3" in product.source
    assert "not there yet: varying-width, layers-2, layers-4" in product.source
    assert [row[0] for row in product.tables[""].rows] == ["width 128", "3 layers"]


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (("most circular models",), {"clock_symmetricity": 0.995, "pizza_irrelevance": 0.55}),
        (("clear transition", "symmetricity"), {"at": 2.0}),
        (("clear transition", "irrelevance"), {"pizza_irrelevance": 0.7}),
        (("Pizza dominates", "metrics"), {"pizza_irrelevance": 0.595, "asymmetric_pizzas": 0.45}),
        (("Clock dominates", "metrics"), {"clock_irrelevance": 0.6, "clock_symmetricity": 0.979}),
    ],
)
def test_onelayer(told: Told, words: tuple[str, ...], how: dict[str, Any]) -> None:
    assert verdict(told("onelayer", "fixed-width", 600), *words) == "supported"
    assert verdict(told("onelayer", "fixed-width", 600, **how), *words) == "not supported"


def test_onelayer_counts_verdicts_on_either_side(tmp_path: Path) -> None:
    runs = transformers(600)
    write_sweep(tmp_path / "good", "fixed-width", runs)
    good = claims_of("onelayer", tmp_path / "good")
    assert verdict(good, "Clock dominates", "label") == "supported"
    assert verdict(good, "between Clock and Pizza") == "not supported"
    runs["paper_label"] = runs["paper_label"].where(runs["paper_label"] == "non-circular", "hybrid")
    write_sweep(tmp_path / "bad", "fixed-width", runs)
    bad = claims_of("onelayer", tmp_path / "bad")
    assert verdict(bad, "Clock dominates", "label") == "not supported"
    assert verdict(bad, "Pizza dominates", "label") == "not supported"
    assert verdict(bad, "between Clock and Pizza") == "supported"


@pytest.mark.parametrize("measure", ["symmetricity", "irrelevance"])
def test_variouswidth(told: Told, measure: str) -> None:
    rising = told("variouswidth", "varying-width", 1200)
    assert verdict(rising, "increases with width", measure) == "supported"
    assert verdict(rising, "almost linear", "log2", measure) == "supported"
    bent = told("variouswidth", "varying-width", 1200, per_doubling=-0.1, bend=0.09, at=0.4)
    assert verdict(bent, "increases with width", measure) == "not supported"
    assert verdict(bent, "almost linear", "log2", measure) == "not supported"


def test_noncirc2(tmp_path: Path) -> None:
    write_transformers(tmp_path / "good", "fixed-width", 1000, rough=0.3)
    good = claims_of("noncirc2", tmp_path / "good")
    assert verdict(good, "share circular") == "reproduced"
    for measure in ("symmetricity", "irrelevance"):
        assert verdict(good, "more noise", measure) == "supported"
    assert verdict(good, "low attention rates") == "supported"
    runs = transformers(1000, circular=0.6)
    write_sweep(tmp_path / "bad", "fixed-width", runs)
    bad = claims_of("noncirc2", tmp_path / "bad")
    assert verdict(bad, "share circular") == "differs"
    for measure in ("symmetricity", "irrelevance"):
        assert (
            verdict(bad, "more noise", measure) == "undecided"
        )  # there is no difference: the interval holds 0
    runs.loc[runs["attention_rate"] < 0.3, "circularity"] = 0.999
    write_sweep(tmp_path / "high", "fixed-width", runs)
    assert (
        verdict(claims_of("noncirc2", tmp_path / "high"), "low attention rates") == "not supported"
    )


def test_multilayers(tmp_path: Path) -> None:
    shares = {"layers-2": 0.0995, "layers-3": 0.1155, "layers-4": 0.0608}
    for seed, (space, share) in enumerate(shares.items()):
        write_transformers(tmp_path / "good", space, 400, seed, circular=share)
        write_transformers(tmp_path / "bad", space, 400, seed, circular=0.5, pizza_irrelevance=0.7)
    good, bad = (
        claims_of("multilayers", tmp_path / "good"),
        claims_of("multilayers", tmp_path / "bad"),
    )
    for layers, word in ((2, "two"), (3, "three"), (4, "four")):
        assert verdict(good, "share circular", word) == "reproduced"
        assert verdict(bad, "share circular", word) == "differs"
        assert verdict(good, "more likely non-circular", f"{layers} layers") == "supported"
        assert verdict(bad, "more likely non-circular", f"{layers} layers") == "not supported"
        assert verdict(good, "Pizza continues", f"{layers} layers") == "supported"
        assert verdict(bad, "Pizza continues", f"{layers} layers") == "not supported"


def test_multilayers_goes_without_a_depth_that_is_not_there_and_says_so(tmp_path: Path) -> None:
    for space in ("layers-2", "layers-4"):
        write_transformers(tmp_path, space, 40, circular=0.1)
    made = find_items(["multilayers"])[0].make(Sources(tmp_path))
    assert made.source.endswith("not there yet: layers-3")
    assert [row[0] for row in made.tables[""].rows] == ["2 layers", "4 layers"]
    assert verdict(made.claims, "share circular", "three") == "not tested"
    assert verdict(made.claims, "Pizza continues", "4 layers") == "supported"


def test_a_transition_of_few_runs_is_undecided(told: Told) -> None:
    few = told("onelayer", "fixed-width", 6, circular=1.0)
    assert verdict(few, "clear transition", "symmetricity") == "undecided"


@pytest.mark.parametrize("label", ["onelayer", "noncirc2", "metricvs"])
def test_a_missing_column_is_named(tmp_path: Path, label: str) -> None:
    write_sweep(tmp_path, "fixed-width", transformers(50).drop(columns="distance_irrelevance"))
    with pytest.raises(
        InputError, match=r"the sweep of fixed-width has no column distance_irrelevance"
    ):
        claims_of(label, tmp_path)


def test_populations_of_nothing_are_not_tested(tmp_path: Path) -> None:
    write_transformers(tmp_path, "fixed-width", 30, inaccurate=1.0)
    for label in ("metricvs", "onelayer", "noncirc2"):
        made = make_one(label, Sources(tmp_path), tmp_path / "out")
        assert made.problem is None
        assert "supported" not in {claim.verdict for claim in made.claims}


def test_the_shipped_runs(tmp_path: Path) -> None:
    made = make(find_items(["onelayer", "noncirc2", "metricvs"]), Sources(), tmp_path)
    assert [item.problem for item in made] == [None] * 3
    found = {item.item.label: item.claims for item in made}
    for measure in ("symmetricity", "irrelevance"):
        assert verdict(found["onelayer"], "clear transition", measure) == "supported"
    assert verdict(found["onelayer"], "most circular models") == "supported"
    assert verdict(found["noncirc2"], "share circular") in (
        "reproduced",
        "differs",
    )  # it lies at the edge of its interval
    assert (tmp_path / "metricvs.svg").stat().st_size < 1_000_000
