"""A circle of two or three points is a short cycle, which Clock and Pizza compute alike: known
networks, and the gallery's.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from made_networks import mixture, parity_clock

from algophase import Runs, analyze, distill, handmade_clock, handmade_pizza
from algophase.analysis.presentation import profiles, program_panels
from algophase.analysis.program.forms import form_curve, period_of
from algophase.analysis.verdict.decide import form_of
from algophase.networks import Network

COMPOSITE = (60, 64, 100)


def test_a_pizza_with_its_companion_is_a_clock_on_two_or_three_points_only() -> None:
    flat = np.ones(60)
    for k in range(1, 31):
        curve = form_curve(flat, k, "Pizza with companion")
        assert curve is not None
        assert np.allclose(curve, flat, atol=1e-9) == (period_of(k, 60) <= 3) == (k in (20, 30))


@pytest.mark.parametrize(
    ("network", "label", "sentence"),
    [
        (handmade_pizza(15, (2, 5)), "Pizza", "a short cycle (53%) and a Pizza (47%)"),
        (handmade_clock(15, (2, 5)), "Clock", "a Clock (50%) and a short cycle (50%)"),
        (
            handmade_pizza(12, (1, 4, 6), accompanied=True),
            "Pizza",
            "two short cycles (74%) and a Pizza (26%)",
        ),
        (parity_clock(12), "Clock", "a short cycle (67%) and a Clock (33%)"),
        (
            mixture(22, (11,), (1, 4), 0.3),
            "Pizza",
            "two Pizzas (70%) and a short cycle (30%)",
        ),  # was a hybrid
        (
            handmade_clock(6, (2, 3)),
            "other",
            "two short cycles, which Clock and Pizza compute alike",
        ),
        (handmade_pizza(3, (1,)), "other", "a short cycle, which Clock and Pizza compute alike"),
    ],
)
def test_networks_with_a_short_cycle(network: Network, label: str, sentence: str) -> None:
    analysis = analyze(network)
    answer, found = analysis.verdict, analysis.instances.instances
    assert (answer.label, answer.sentence) == (label, sentence)
    for each, form in zip(found, answer.forms, strict=True):
        assert (form == "short cycle") == each.short == (each.period <= 3)
        assert (f"pizza_part of {each.frequencies[0]}" in answer.distances) == (not each.short)
    assert answer.pizza_share == {"Pizza": 1.0, "Clock": 0.0, "other": None}[label]
    assert answer.confidence.named_share == pytest.approx(1)
    assert any(
        "compute a cycle of two or three numbers alike" in reason for reason in answer.general
    )


def test_a_short_cycle_that_is_not_kept_has_no_form() -> None:
    (instance,) = analyze(handmade_clock(3, (1,))).instances.instances
    measured = {**vars(instance), "energy": 2 * instance.energy}
    assert form_of(instance) == "short cycle"
    assert form_of(type(instance)(**measured)) == "other"


def test_a_short_cycle_is_drawn_recorded_and_distilled() -> None:
    network = handmade_pizza(15, (2, 5))
    analysis = analyze(network)
    record = analysis.to_dict()["instances"][0]
    assert (record["frequencies"], record["form"]) == ([5], "short cycle")
    assert record["fit"] == pytest.approx(1)
    drawn = profiles(analysis)[0]
    assert drawn.kind == "short cycle"
    assert drawn.fitted is not None
    np.testing.assert_allclose(
        drawn.fitted, drawn.values, atol=0.03
    )  # the other circle writes a little at 5
    assert "short cycle" in program_panels(analysis)[1].caption
    assert "5: short cycle" in analysis._repr_html_()
    assert len(analysis.plot().axes) == 3
    assert distill(network).certificate.agreeing == 225


def test_networks_without_attention_are_pizzas_at_composite_moduli(gallery: Path) -> None:
    """All 60 but one, by its circle of six points, whose form lies between the two: no short
    cycle.
    """
    runs = Runs.read(gallery.parent / "moduli")
    again = runs.decided().where(runs["modulus"].isin(COMPOSITE))
    kept = runs.where(runs["modulus"].isin(COMPOSITE))
    assert len(again) == len(again.accurate) == len(kept)
    none = again.where(again["attention_rate"] == 0)
    assert Counter(none["verdict"]) == {"Pizza": 59, "hybrid": 1}
    (other,) = none.frame[none["verdict"] == "hybrid"].to_dict("records")
    assert (other["run_id"], other["sentence"]) == (
        "068514904ee5",
        "two Pizzas (57%) and a Clock-Pizza mixture (42%)",
    )
    assert dict(
        zip(other["instances.form"], map(list, other["instances.frequencies"]), strict=False)
    )["both"] == [10, 20]
    changed = Counter(
        change
        for change in zip(again["attention_rate"], kept["verdict"], again["verdict"], strict=True)
        if change[1] != change[2]
    )
    assert changed == {
        (0.0, "hybrid", "Pizza"): 7,
        (0.5, "hybrid", "Pizza"): 5,
        (1.0, "hybrid", "Clock"): 1,
        (1.0, "Clock", "hybrid"): 2,
    }
    assert not kept["instances.form"].map(lambda forms: "short cycle" in forms).any()
    assert int(again["instances.form"].map(lambda forms: "short cycle" in forms).sum()) == 85


def test_nothing_changes_at_prime_moduli(gallery: Path) -> None:
    moduli = Runs.read(gallery.parent / "moduli")
    fixed = Runs.read(gallery)
    for runs in (
        moduli.where(~moduli["modulus"].isin(COMPOSITE)),
        fixed.where(fixed["index"] % 10 == 0),
    ):
        again = runs.decided()
        assert len(again) == len(runs) > 300
        for column in ("_verdict", "verdict"):
            assert again[column].tolist() == runs[column].tolist()
        assert [list(forms) for forms in again["instances.form"]] == [
            list(forms) for forms in runs["instances.form"]
        ]
