"""Linear models and transformers of other setups: each statement can come out either way."""

from pathlib import Path

import pytest
from made_items import AS_TOLD, claims_of, verdict, write_linear
from paper_fixtures import Told

from algophase.paper.product import Claim

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
def test_lineararchs(
    linear_claims: tuple[Claim, ...],
    tmp_path: Path,
    words: tuple[str, ...],
    otherwise: dict[str, tuple[float, float]],
) -> None:
    assert verdict(linear_claims, *words) == "supported"
    write_linear(tmp_path, {**AS_TOLD, **otherwise})
    assert verdict(claims_of("lineararchs", tmp_path), *words) == "not supported"


VARIANTS = {"gelu": "gelu", "diff-vocab": "separate-vocabularies", "eqn-sign": "equals-sign"}


@pytest.mark.parametrize("label", VARIANTS)
def test_variants(told: Told, label: str) -> None:
    same = told(label, VARIANTS[label], 200, beside=400, circular=0.0)
    assert {claim.verdict for claim in same} == {"supported"}
    how = {
        "at": 0.25,
        "clock_symmetricity": 0.8,
        "clock_irrelevance": 0.62,
        "pizza_irrelevance": 0.45,
    }
    other = told(label, VARIANTS[label], 200, beside=400, **how)
    assert verdict(other, "Pizzas") == "not supported"
    assert verdict(other, "where the phase ends", "symmetricity") == "not supported"
    assert verdict(other, "by attention rate", "symmetricity") == "not supported"
    assert verdict(other, "by attention rate", "distance irrelevance") == "not supported"


def test_a_variant_without_a_phase_change(told: Told) -> None:
    found = told("gelu", "gelu", 150, beside=300, at=2.0)
    assert verdict(found, "Clocks") == "not supported"
    for measure in ("symmetricity", "irrelevance"):
        assert verdict(found, "phase change is still observed", measure) == "not supported"
        assert verdict(found, "where the phase ends", measure) == "not supported"
