"""The items about populations: each statement of the paper can come out either way, and denominators are the paper's."""

from pathlib import Path
from typing import Any

import numpy
import pytest
from populations_for_items import AS_TOLD, claims_of, transformers, write_linear, write_sweep, write_transformers

from algophase.errors import InputError
from algophase.paper.catalogue import find_items
from algophase.paper.make import make
from algophase.paper.population_claims import apart, bend, decided, population, printed_share
from algophase.paper.product import Claim
from algophase.paper.published import number
from algophase.paper.sources import FoundRuns, Missing, Sources
from algophase.runs.boundary import Estimate
from algophase.runs.comparison import IRRELEVANCE, SYMMETRICITY
from algophase.runs.matching import finished
from algophase.runs.statistics import Share, newcombe

GALLERY = Path(__file__).resolve().parents[2] / "gallery"


def verdict(claims: tuple[Claim, ...], *words: str) -> str:
    """The verdict of the one claim whose text holds all of these words."""
    found = [claim for claim in claims if all(word in claim.text for word in words)]
    assert len(found) == 1, [claim.text for claim in claims]
    return found[0].verdict


def test_newcombe_is_the_published_example() -> None:
    """Newcombe (1998), method 10, 56/70 and 48/80: 0.0524 to 0.3339."""
    low, high = newcombe(Share(56, 70), Share(48, 80))
    assert low == pytest.approx(0.0524, abs=1e-4)
    assert high == pytest.approx(0.3339, abs=1e-4)
    assert apart(Share(1, 2), Share(0, 0)) is None


def test_a_printed_share_is_compared_within_both_sampling_errors() -> None:
    assert printed_share(Share(343, 1000), "fixed-width").verdict == "reproduced"
    assert printed_share(Share(450, 1000), "fixed-width").verdict == "differs"
    assert printed_share(Share(0, 0), "fixed-width").verdict == "not tested"
    assert printed_share(Share(2, 16), "layers-4").verdict == "undecided"  # no difference seen, but a large one might be there
    assert printed_share(Share(343, 1000), "fixed-width").published == "34.31%"
    edge = printed_share(Share(643, 1725), "fixed-width")  # our interval alone leaves the printed share out
    assert edge.verdict == "reproduced"
    assert "outside our interval" in edge.note


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
def test_metricvs(tmp_path: Path, words: tuple[str, ...], how: dict[str, Any]) -> None:
    write_transformers(tmp_path / "good", "fixed-width", 500)
    assert verdict(claims_of("metricvs", tmp_path / "good"), *words) == "supported"
    write_transformers(tmp_path / "bad", "fixed-width", 500, **how)
    assert verdict(claims_of("metricvs", tmp_path / "bad"), *words) == "not supported"


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
def test_onelayer(tmp_path: Path, words: tuple[str, ...], how: dict[str, Any]) -> None:
    write_transformers(tmp_path / "good", "fixed-width", 600)
    assert verdict(claims_of("onelayer", tmp_path / "good"), *words) == "supported"
    write_transformers(tmp_path / "bad", "fixed-width", 600, **how)
    assert verdict(claims_of("onelayer", tmp_path / "bad"), *words) == "not supported"


def test_onelayer_counts_verdicts_on_either_side(tmp_path: Path) -> None:
    runs = transformers(600)
    write_sweep(tmp_path / "good", "fixed-width", runs)
    good = claims_of("onelayer", tmp_path / "good")
    assert verdict(good, "Clock dominates", "verdict") == "supported"
    assert verdict(good, "between Clock and Pizza") == "not supported"
    runs["verdict"] = runs["verdict"].where(runs["verdict"] == "non-circular", "hybrid")
    write_sweep(tmp_path / "bad", "fixed-width", runs)
    bad = claims_of("onelayer", tmp_path / "bad")
    assert verdict(bad, "Clock dominates", "verdict") == "not supported"
    assert verdict(bad, "Pizza dominates", "verdict") == "not supported"
    assert verdict(bad, "between Clock and Pizza") == "supported"


@pytest.mark.parametrize(
    ("interval", "holds"),
    [((0.1, 0.2), True), ((-0.2, -0.1), False), ((0.6, 0.7), False), ((-0.1, 0.1), "undecided"), ((0.4, 0.6), "undecided")],
)
def test_an_interval_lies_within_limits_outside_or_is_undecided(interval: tuple[float, float], holds: object) -> None:
    assert decided(Estimate(0.0, interval), low=0.0, high=0.5) == holds
    assert decided(Estimate(0.0, None), low=0.0) is None


@pytest.mark.parametrize("measure", ["symmetricity", "irrelevance"])
def test_variouswidth(tmp_path: Path, measure: str) -> None:
    write_transformers(tmp_path / "rising", "varying-width", 1200)
    rising = claims_of("variouswidth", tmp_path / "rising")
    assert verdict(rising, "increases with width", measure) == "supported"
    assert verdict(rising, "almost linear", "log2", measure) == "supported"
    write_transformers(tmp_path / "bent", "varying-width", 1200, per_doubling=-0.1, bend=0.09, at=0.4)
    bent = claims_of("variouswidth", tmp_path / "bent")
    assert verdict(bent, "increases with width", measure) == "not supported"
    assert verdict(bent, "almost linear", "log2", measure) == "not supported"


def test_a_bend_needs_a_boundary_and_widths() -> None:
    runs = finished(transformers(100), "made").runs
    assert bend(runs, SYMMETRICITY) is None
    assert bend(finished(transformers(100, widths=True, at=2.0), "made").runs, IRRELEVANCE) is None


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
        assert verdict(bad, "more noise", measure) == "undecided"  # there is no difference: the interval holds 0
    runs.loc[runs["attention_rate"] < 0.3, "circularity"] = 0.999
    write_sweep(tmp_path / "high", "fixed-width", runs)
    assert verdict(claims_of("noncirc2", tmp_path / "high"), "low attention rates") == "not supported"


def test_multilayers(tmp_path: Path) -> None:
    shares = {"layers-2": 0.0995, "layers-3": 0.1155, "layers-4": 0.0608}
    for seed, (space, share) in enumerate(shares.items()):
        write_transformers(tmp_path / "good", space, 400, seed, circular=share)
        write_transformers(tmp_path / "bad", space, 400, seed, circular=0.5, pizza_irrelevance=0.7)
    good, bad = claims_of("multilayers", tmp_path / "good"), claims_of("multilayers", tmp_path / "bad")
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


def test_the_share_circular_is_of_all_trained_networks() -> None:
    runs = transformers(8)
    runs["circularity"] = [0.999, 0.999, 0.999, 0.9, 0.9, 0.9, 0.9, numpy.nan]
    runs["validation_accuracy"] = [1, 1, 0.5, 1, 1, 1, 0.5, 1]
    one = population(FoundRuns(runs, "made"), "layers-2")
    assert (one.circular_share.count, one.circular_share.total) == (3, 7)
    assert (one.circular_share_of_accurate.count, one.circular_share_of_accurate.total) == (2, 5)


LINEAR = [
    (("radically different",), {"delta": (0.6, 0.1)}),
    (("beta and gamma are very similar",), {"gamma": (0.45, 0.9)}),
    (("beta has lower distance irrelevance",), {"beta": (0.7, 0.9)}),
    (("gamma has lower distance irrelevance",), {"gamma": (0.7, 0.9)}),
    (("beta has higher circularity",), {"beta": (0.25, 0.1), "alpha": (0.6, 0.9)}),
    (("gamma has higher circularity",), {"gamma": (0.25, 0.1), "alpha": (0.6, 0.9)}),
    (("delta is more likely non-circular",), {"delta": (0.93, 0.8)}),
    (("very high distance irrelevance",), {"delta": (0.75, 0.1)}),
    (("alpha'",), {"alpha-prime": (0.93, 0.4)}),
]


@pytest.mark.parametrize(("words", "otherwise"), LINEAR)
def test_lineararchs(tmp_path: Path, words: tuple[str, ...], otherwise: dict[str, tuple[float, float]]) -> None:
    write_linear(tmp_path / "good", AS_TOLD)
    assert verdict(claims_of("lineararchs", tmp_path / "good"), *words) == "supported"
    write_linear(tmp_path / "bad", {**AS_TOLD, **otherwise})
    assert verdict(claims_of("lineararchs", tmp_path / "bad"), *words) == "not supported"


VARIANTS = {"gelu": "gelu", "diff-vocab": "separate-vocabularies", "eqn-sign": "equals-sign"}


@pytest.mark.parametrize("label", VARIANTS)
def test_variants(tmp_path: Path, label: str) -> None:
    for name in ("same", "other"):
        write_transformers(tmp_path / name, "fixed-width", 400)
    write_transformers(tmp_path / "same", VARIANTS[label], 200, 1, circular=0.0)
    assert {claim.verdict for claim in claims_of(label, tmp_path / "same")} == {"supported"}
    how = {"at": 0.25, "clock_symmetricity": 0.8, "clock_irrelevance": 0.62, "pizza_irrelevance": 0.45}
    write_transformers(tmp_path / "other", VARIANTS[label], 200, 1, **how)
    other = claims_of(label, tmp_path / "other")
    assert verdict(other, "Pizzas") == "not supported"
    assert verdict(other, "where the phase ends", "symmetricity") == "not supported"
    assert verdict(other, "by attention rate", "symmetricity") == "not supported"
    assert verdict(other, "by attention rate", "distance irrelevance") == "not supported"


def test_a_variant_without_a_phase_change(tmp_path: Path) -> None:
    write_transformers(tmp_path, "fixed-width", 300)
    write_transformers(tmp_path, "gelu", 150, at=2.0)
    found = claims_of("gelu", tmp_path)
    assert verdict(found, "Clocks") == "not supported"
    for measure in ("symmetricity", "irrelevance"):
        assert verdict(found, "phase change is still observed", measure) == "not supported"
        assert verdict(found, "where the phase ends", measure) == "not supported"


def test_a_transition_of_few_runs_is_undecided(tmp_path: Path) -> None:
    write_transformers(tmp_path / "few", "fixed-width", 6, circular=1.0)
    assert verdict(claims_of("onelayer", tmp_path / "few"), "clear transition", "symmetricity") == "undecided"


@pytest.mark.parametrize("label", ["onelayer", "noncirc2", "metricvs"])
def test_a_missing_column_is_named(tmp_path: Path, label: str) -> None:
    write_sweep(tmp_path, "fixed-width", transformers(50).drop(columns="distance_irrelevance"))
    with pytest.raises(InputError, match=r"the sweep of fixed-width has no column distance_irrelevance"):
        claims_of(label, tmp_path)


def test_populations_of_nothing_are_not_tested(tmp_path: Path) -> None:
    write_transformers(tmp_path, "fixed-width", 30, inaccurate=1.0)
    for label in ("metricvs", "onelayer", "noncirc2"):
        made = make(find_items([label]), Sources(tmp_path), tmp_path / "out")[0]
        assert made.problem is None
        assert "supported" not in {claim.verdict for claim in made.claims}


def test_each_item_is_made_twice_the_same(tmp_path: Path) -> None:
    gallery = tmp_path / "gallery"
    for seed, space in enumerate(("fixed-width", "varying-width", "layers-2", "layers-3", "layers-4", *VARIANTS.values())):
        write_transformers(gallery, space, 120, seed)
    write_linear(gallery, AS_TOLD, 40)
    labels = ["metricvs", "onelayer", "variouswidth", "noncirc2", "multilayers", "lineararchs", *VARIANTS]
    outs = [tmp_path / "first", tmp_path / "second"]
    for out in outs:
        made = make(find_items(labels), Sources(gallery), out)
        assert [item.problem for item in made] == [None] * len(labels)
    names = sorted(path.name for path in outs[0].iterdir())
    assert {f"{label}.{kind}" for label in labels for kind in ("png", "svg", "md", "json")} <= set(names)
    for name in names:
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes(), name


def test_the_shipped_runs(tmp_path: Path) -> None:
    (made,) = make(find_items(["metricvs"]), Sources(GALLERY), tmp_path)
    assert made.problem is None
    found = claims_of("onelayer", GALLERY)
    for measure in ("symmetricity", "irrelevance"):
        assert verdict(found, "clear transition", measure) == "supported"
    assert verdict(found, "most circular models") == "supported"
    assert verdict(claims_of("noncirc2", GALLERY), "share circular") in (
        "reproduced",
        "differs",
    )  # it lies at the edge of its interval
    assert (tmp_path / "metricvs.svg").stat().st_size < 1_000_000


def test_released_runs_give_the_printed_shares(tmp_path: Path, released: Path) -> None:
    for space in ("fixed-width", "layers-2", "layers-3", "layers-4", "equals-sign"):
        write_transformers(tmp_path, space, 150)
    claims = (*claims_of("noncirc2", tmp_path, released), *claims_of("multilayers", tmp_path, released))
    theirs = [claim for claim in claims if "released table" in claim.text]
    assert [claim.verdict for claim in theirs] == ["reproduced"] * 4
    assert [claim.published for claim in theirs] == ["34.31%", "9.95%", "11.55%", "6.08%"]
    for label in ("metricvs", "onelayer", "eqn-sign"):
        product = find_items([label])[0].make(Sources(tmp_path, (), released))
        assert set(product.figures) == {"", "released"}
        assert "wrong logit" in product.tables["released"].markdown()
    assert number("share-circular-2-layers").agrees(84 / 844)
