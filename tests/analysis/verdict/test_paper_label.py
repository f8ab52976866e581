"""The paper's rules on made-up measurements, and on embeddings of known shape."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from algophase.analysis.circles.find import Circle
from algophase.analysis.circles.principal import PrincipalComponents, principal_components
from algophase.analysis.circles.roles import CircleEvidence, Role
from algophase.analysis.verdict.paper_label import (
    Measurements,
    PaperVerdict,
    embedding_shape,
    label_by_paper,
    pizza_share,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.palette import OUTCOMES, in_order


def decide(
    measured: Measurements,
    components: PrincipalComponents,
    circles: list[CircleEvidence],
    thresholds: Thresholds,
) -> PaperVerdict:
    return label_by_paper(replace(measured, shape=embedding_shape(components)), circles, thresholds)


def evidence(
    frequency: int, role: Role, variance: float = 1.0, accompanies: int | None = None
) -> CircleEvidence:
    circle = Circle(frequency, (1, 2), "components", 0.3, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0)
    return CircleEvidence(
        circle, role, accompanies, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, variance, 1.0
    )


def waves(*parts: tuple[float, int, float], p: int = 59) -> PrincipalComponents:
    """An embedding whose columns are size * cos(2 pi k t / p + phase)."""
    t = torch.arange(p).double()
    return principal_components(
        (torch.stack([s * torch.cos(2 * math.pi * k * t / p + f) for s, k, f in parts], dim=1),)
    )


CIRCLES = waves((2, 3, 0), (2, 3, math.pi / 2), (1, 8, 0), (1, 8, math.pi / 2))
PIZZA = Measurements(
    accuracy=1,
    pairs=3481,
    wrong_pairs=0,
    distance_irrelevance=0.2,
    gradient_symmetricity=0.993,
    circularity=0.998,
)
CLOCK = Measurements(
    accuracy=1,
    pairs=3481,
    wrong_pairs=0,
    distance_irrelevance=0.85,
    gradient_symmetricity=0.35,
    circularity=0.998,
)
ALL_PIZZA = [
    evidence(3, "Pizza"),
    evidence(8, "Pizza"),
    evidence(6, "accompanying", 0.2, accompanies=3),
]
ALL_CLOCK = [evidence(3, "Clock"), evidence(8, "Clock")]


def test_clear_cases() -> None:
    verdict = decide(PIZZA, CIRCLES, ALL_PIZZA, Thresholds())
    assert (verdict.label, verdict.metrics_agree, verdict.pizza_share) == ("Pizza", True, 1)
    verdict = decide(CLOCK, CIRCLES, ALL_CLOCK, Thresholds())
    assert (verdict.label, verdict.metrics_agree, verdict.pizza_share) == ("Clock", True, 0)


def test_one_wrong_pair_is_not_learned_unless_the_user_allows_it() -> None:
    almost = replace(PIZZA, accuracy=1 - 1 / 3481, wrong_pairs=1)
    verdict = decide(almost, CIRCLES, ALL_PIZZA, Thresholds())
    assert verdict.label == "not learned"
    assert "99.97% is below 100%: 1 of 3,481 pairs" in verdict.reasons[0]
    assert decide(almost, CIRCLES, ALL_PIZZA, Thresholds(accuracy=0.99)).label == "Pizza"


def test_a_network_without_an_accuracy_is_not_learned() -> None:
    assert (
        decide(replace(PIZZA, accuracy=math.nan), CIRCLES, ALL_PIZZA, Thresholds()).label
        == "not learned"
    )


def test_disagreement_is_said_and_distance_irrelevance_decides_for_the_pizza() -> None:
    verdict = decide(replace(PIZZA, gradient_symmetricity=0.9), CIRCLES, ALL_PIZZA, Thresholds())
    assert (verdict.label, verdict.metrics_agree) == ("Pizza", False)
    assert any(
        "disagree" in reason and "decides for the Pizza" in reason for reason in verdict.reasons
    )


def test_symmetric_gradients_rule_out_the_clock() -> None:
    symmetric = replace(CLOCK, gradient_symmetricity=0.99)
    for circles in (ALL_PIZZA, ALL_CLOCK, []):
        verdict = decide(symmetric, CIRCLES, circles, Thresholds())
        assert verdict.label != "Clock"
        assert verdict.metrics_agree is False
        assert any("disagree" in reason for reason in verdict.reasons)
    assert decide(symmetric, CIRCLES, ALL_PIZZA, Thresholds()).label == "Pizza"


@pytest.mark.parametrize(
    ("circles", "label"), [(ALL_PIZZA, "Pizza"), (ALL_CLOCK, "Clock"), ([], "hybrid")]
)
def test_between_the_ranges_the_circles_decide(circles: list[CircleEvidence], label: str) -> None:
    between = replace(CLOCK, distance_irrelevance=0.5, gradient_symmetricity=0.8)
    assert decide(between, CIRCLES, circles, Thresholds()).label == label


def test_a_metric_between_its_lines_does_not_vote_and_so_cannot_disagree() -> None:
    between = replace(CLOCK, distance_irrelevance=0.5, gradient_symmetricity=0.8)
    for measured, circles, label in (
        (between, ALL_CLOCK, "Clock"),
        (between, ALL_PIZZA, "Pizza"),
        (replace(between, gradient_symmetricity=0.99), ALL_PIZZA, "Pizza"),
        (
            replace(between, gradient_symmetricity=0.99),
            ALL_CLOCK,
            "hybrid",
        ),  # symmetric: the Clock is ruled out
        (replace(between, circularity=0.9), ALL_CLOCK, "non-circular"),
    ):
        verdict = decide(measured, CIRCLES, circles, Thresholds())
        assert (verdict.label, verdict.metrics_agree) == (label, None)
        assert not any("disagree" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("irrelevance", "circles", "label"),
    [
        (math.nan, [], "hybrid"),
        (math.nan, ALL_CLOCK, "Clock"),
        (0.5, ALL_PIZZA, "Pizza"),
        (0.2, [], "Pizza"),
        (0.85, [], "Clock"),
    ],
)
def test_undefined_symmetricity_does_not_vote(
    irrelevance: float, circles: list[CircleEvidence], label: str
) -> None:
    measured = replace(CLOCK, distance_irrelevance=irrelevance, gradient_symmetricity=math.nan)
    verdict = decide(measured, CIRCLES, circles, Thresholds())
    assert (verdict.label, verdict.metrics_agree) == (label, None)
    assert not any("asymmetric" in reason or "disagree" in reason for reason in verdict.reasons)
    assert any(
        reason.startswith("gradient symmetricity is undefined") for reason in verdict.reasons
    )


def test_circles_without_a_role_are_named_where_the_circles_decide() -> None:
    symmetric = replace(CLOCK, gradient_symmetricity=0.99)
    verdict = decide(symmetric, CIRCLES, [*ALL_PIZZA, evidence(19, "unclear", 0.3)], Thresholds())
    assert (verdict.label, verdict.pizza_share) == ("Pizza", 1)
    assert verdict.reasons[-1] == (
        "the circles decide: the Pizza has 100% of the logit variance of the circles with a role "
        "(the circle of frequency 19, without a role, has 12% of all circles' logit variance)"
    )
    verdict = decide(
        CLOCK,
        CIRCLES,
        [*ALL_PIZZA, *ALL_CLOCK, *(evidence(k, "unclear") for k in (4, 9))],
        Thresholds(),
    )
    assert verdict.label == "hybrid"
    assert "circles of frequency 4, 9, without a role, have 32%" in verdict.reasons[-1]
    verdict = decide(symmetric, CIRCLES, ALL_PIZZA, Thresholds())
    assert (
        verdict.reasons[-1]
        == "the circles decide: the Pizza has 100% of the circles' logit variance"
    )


def test_a_hybrid_names_its_circles() -> None:
    verdict = decide(
        CLOCK, CIRCLES, [evidence(3, "Clock", 3.0), evidence(8, "Pizza", 1.0)], Thresholds()
    )
    assert (verdict.label, verdict.pizza_share) == ("hybrid", 0.25)
    assert "the circle of frequency 3 acts as a Clock" in verdict.reasons
    assert "the circle of frequency 8 acts as a Pizza" in verdict.reasons


def test_a_trace_of_the_other_algorithm_is_mentioned_but_does_not_decide() -> None:
    verdict = decide(
        CLOCK, CIRCLES, [evidence(3, "Clock", 20.0), evidence(8, "Pizza", 1.0)], Thresholds()
    )
    assert verdict.label == "Clock"
    assert any("trace of Pizza: 4.8%" in reason for reason in verdict.reasons)


def test_pizza_share_counts_companions_and_half_of_mixtures() -> None:
    assert (
        pizza_share(
            [evidence(1, "mixed"), evidence(2, "accompanying"), evidence(3, "unclear", 100.0)]
        )
        == 0.75
    )
    assert pizza_share([evidence(3, "unclear")]) is None


def test_constant_correct_logits_are_a_clocks() -> None:
    verdict = decide(
        replace(CLOCK, distance_irrelevance=math.nan, gradient_symmetricity=0.0),
        CIRCLES,
        ALL_CLOCK,
        Thresholds(),
    )
    assert verdict.label == "Clock"
    assert any("all correct logits are equal" in reason for reason in verdict.reasons)


NOT_CIRCULAR = replace(CLOCK, circularity=0.9)


def test_a_line_is_line_like() -> None:
    line = waves((3, 5, 0), (1, 9, 0), (1, 9, math.pi / 2), (0.5, 2, 0))
    verdict = decide(NOT_CIRCULAR, line, [], Thresholds())
    assert (verdict.label, verdict.shape) == ("non-circular", "line-like")
    assert any("frequency 5" in reason for reason in verdict.reasons)


def test_a_curve_through_several_frequencies() -> None:
    t = torch.arange(59).double()
    columns = [
        torch.cos(2 * math.pi * a * t / 59) + torch.cos(2 * math.pi * b * t / 59 + 1)
        for a, b in ((3, 11), (3, 20), (11, 20))
    ]
    columns += [torch.sin(2 * math.pi * k * t / 59) for k in (3, 11, 20)]
    curve = principal_components(
        (torch.stack([(5 - i) * c for i, c in enumerate(columns)], dim=1),)
    )
    verdict = decide(NOT_CIRCULAR, curve, [], Thresholds())
    assert (verdict.label, verdict.shape) == ("non-circular", "several frequencies")
    assert any("3" in reason and "11" in reason for reason in verdict.reasons)


def test_circles_just_short_of_the_threshold_are_nearly_circular() -> None:
    verdict = decide(replace(CLOCK, circularity=0.99), CIRCLES, ALL_CLOCK, Thresholds())
    assert (verdict.label, verdict.shape) == ("non-circular", "nearly circular")
    assert "circles of frequency 3, 8 act as a Clock" in verdict.reasons


def test_an_embedding_of_one_point_is_non_circular() -> None:
    nothing = principal_components((torch.ones(59, 4).double(),))
    verdict = decide(replace(CLOCK, circularity=math.nan), nothing, [], Thresholds())
    assert verdict.label == "non-circular"


def test_the_papers_thresholds() -> None:
    assert Thresholds() == Thresholds(1.0, 0.2, 0.995, 0.4, 0.6, 0.98)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"accuracy": "x"}, r"accuracy is 'x'.*\[0, 1\]"),
        ({"accuracy": 99}, r"accuracy is 99\b.*\[0, 1\]"),
        ({"circularity": math.nan}, "circularity is nan"),
        ({"hybrid_share": None}, "hybrid_share is None"),
        (
            {"gradient_symmetricity": -2},
            r"gradient_symmetricity is -2\b.*\[-1, 1\]",
        ),
        ({"pizza_distance_irrelevance": 0.7}, r"0\.7\b.*clock_distance_irrelevance.*0\.6"),
    ],
)
def test_lines_that_cannot_be_drawn_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds(**given)
    assert Thresholds(
        pizza_distance_irrelevance=0.5, clock_distance_irrelevance=0.5
    )  # one line for both is one


def test_outcomes_are_listed_in_one_order_and_unknown_ones_last() -> None:
    assert OUTCOMES[:5] == ("Clock", "Pizza", "multiplying", "adding", "hybrid")
    there = ["unheard", "other", "diverged", "Pizza", "another", "Clock", "Pizza"]
    assert in_order(there) == ["Clock", "Pizza", "other", "diverged", "another", "unheard"]


@pytest.mark.parametrize("rounding", [-1e-12, 0.0, 1e-12])
def test_a_value_within_rounding_of_a_line_is_decided_the_same_way_on_every_machine(
    rounding: float,
) -> None:
    lines = Thresholds()
    on_the_line = replace(PIZZA, circularity=lines.circularity + rounding)
    assert decide(on_the_line, CIRCLES, ALL_PIZZA, lines).label == "Pizza"  # the line is reached
    between = replace(PIZZA, distance_irrelevance=lines.pizza_distance_irrelevance + rounding)
    assert (
        decide(between, CIRCLES, ALL_PIZZA, lines).metrics_agree is None
    )  # a Pizza lies below the line
    clock = replace(CLOCK, distance_irrelevance=lines.clock_distance_irrelevance + rounding)
    assert (
        decide(clock, CIRCLES, ALL_CLOCK, lines).metrics_agree is True
    )  # a Clock reaches its line
    asymmetric = replace(CLOCK, gradient_symmetricity=lines.gradient_symmetricity + rounding)
    assert (
        decide(asymmetric, CIRCLES, ALL_CLOCK, lines).metrics_agree is True
    )  # symmetric gradients exceed the line
    narrow = waves(
        (4, 3, 0), (2 * (1 + rounding), 3, math.pi / 2), (1, 8, 0), (1, 8, math.pi / 2)
    )  # half as wide as long
    assert decide(replace(PIZZA, circularity=0.9), narrow, [], lines).shape == "nearly circular"
