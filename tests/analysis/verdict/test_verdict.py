"""What a verdict says: its headline, its reasons, and how sure it is."""

from dataclasses import replace

import pytest
from made_networks import mixture

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.decide import Confidence
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.wording import form_name
from algophase.networks.handmade import handmade_clock, handmade_pizza


@pytest.fixture(scope="module")
def hybrid() -> Analysis:
    """Clocks with 70% of the logits, Pizzas with 30%."""
    return analyze(mixture(23, (1, 5), (7,), 0.7))


def test_a_clear_verdict_names_its_closest_call() -> None:
    analysis = analyze(handmade_pizza(23))
    certainty = "Certainty: clear (closest call: program explains 99%, threshold 80%)"
    assert str(analysis.verdict.confidence) == certainty
    assert certainty in str(analysis)
    assert certainty in analysis._repr_html_()
    assert analysis.verdict.headline == analysis.verdict.sentence == "two Pizzas"


def test_a_number_within_two_points_of_its_threshold_is_borderline(hybrid: Analysis) -> None:
    share = hybrid.verdict.pizza_share
    assert share is not None
    near = hybrid.decide(Thresholds(hybrid_share=share - 0.015))
    assert near.label == "hybrid"
    words = f"the lesser algorithm has {share:.1%}, threshold {100 * (share - 0.015):.3g}%"
    assert str(near.verdict.confidence) == f"Certainty: borderline (closest call: {words})"
    assert near.verdict.headline == f"{near.sentence}; borderline"
    for text in (str(near), near._repr_html_(), repr(near)):
        assert near.verdict.headline in text
    clear = hybrid.decide(Thresholds(hybrid_share=share - 0.025))
    assert clear.verdict.headline == clear.sentence
    assert str(clear.verdict.confidence).startswith(
        "Certainty: clear (closest call: the lesser algorithm has "
    )


def test_a_short_headline_has_the_remark_in_parentheses() -> None:
    analysis = analyze(handmade_pizza(23))
    explained = analysis.program.beyond_offsets
    assert (
        analysis.decide(Thresholds(program=explained - 0.01)).verdict.headline
        == "two Pizzas (borderline)"
    )


def test_only_lines_that_decided_can_be_a_close_call(hybrid: Analysis) -> None:
    """A network without a wrong pair, whatever accuracy is asked for; and one that is wrong
    nearly everywhere.
    """
    asked = hybrid.decide(Thresholds(accuracy=0.99))
    assert asked.verdict.distances["accuracy"] == pytest.approx(0.01)
    assert asked.verdict.confidence.closest_line == "hybrid_share"
    program = replace(hybrid.program, accuracy=1 / 23)
    wrong = replace(hybrid, program=program).decide(
        Thresholds(program=hybrid.program.beyond_offsets)
    )
    assert wrong.label == "not learned"
    assert wrong.verdict.confidence.nearest_line == "program"
    assert (
        str(wrong.verdict.confidence)
        == "Certainty: clear (closest call: accuracy 4.34%, threshold 100%)"
    )


def test_a_verdict_by_unknown_thresholds_says_how_far_they_are() -> None:
    assert str(Confidence(1.0, 1.0, "program", 0.123)) == (
        "Certainty: clear (closest call: program, 12.3 points from its threshold)"
    )
    assert Confidence(1.0, 1.0, "program", 0.02).borderline
    assert not Confidence(float("nan"), float("nan"), "", float("nan")).borderline


def test_a_few_wrong_pairs_do_not_hide_the_algorithm(hybrid: Analysis) -> None:
    """The label stays, so tables count it as before."""
    few = replace(hybrid, program=replace(hybrid.program, accuracy=1 - 2 / 529)).decide(
        Thresholds()
    )
    assert few.label == "not learned"
    assert (
        few.sentence
        == f"99.62% accurate (2 of 529 pairs wrong); apart from these: {hybrid.sentence}"
    )
    assert few.verdict.headline == few.sentence
    assert few.verdict.general[0] == "accuracy 99.62% is below 100%: 2 of 529 pairs are wrong"
    assert any(
        "--min-accuracy 0.99" in reason and reason.endswith("hybrid")
        for reason in few.verdict.general
    )
    assert few.decide(Thresholds(accuracy=0.99)).label == hybrid.label
    assert str(few.verdict.confidence) == str(hybrid.verdict.confidence)


def test_many_wrong_pairs_leave_nothing_to_say(hybrid: Analysis) -> None:
    many = replace(hybrid, program=replace(hybrid.program, accuracy=1 - 6 / 529)).decide(
        Thresholds()
    )
    assert many.sentence == "not learned"
    assert many.verdict.headline == "not learned (borderline)"


def test_a_few_wrong_pairs_of_no_algorithm(hybrid: Analysis) -> None:
    few = replace(hybrid, program=replace(hybrid.program, accuracy=1 - 2 / 529)).decide(
        Thresholds(fit=0.9999)
    )
    start = "99.62% accurate (2 of 529 pairs wrong); no algorithm found: "
    assert few.label == "not learned"
    assert few.sentence.startswith(start)


def test_reasons_name_the_thresholds(hybrid: Analysis) -> None:
    explained, share = hybrid.program.beyond_offsets, hybrid.verdict.pizza_share
    assert hybrid.verdict.general == (
        f"its program explains {explained:.1%} of its logits (threshold: 80%)",
        f"its instances add up to {hybrid.additivity:.1%} of its logits (threshold: 67%)",
        f"recognized instances account for {hybrid.verdict.confidence.named_share:.1%} of the "
        "logits",
        f"both algorithms contribute: the Pizza has {share:.1%} (a hybrid needs 20% of each)",
    )
    assert hybrid.sentence == "two Clocks (70%) and a Pizza (30%)"


def test_an_instance_between_both_is_a_clock_pizza_mixture(hybrid: Analysis) -> None:
    """Tables and JSON keep the form `both`."""
    leading = hybrid.instances.instances[0]
    half = replace(
        leading,
        clock=0.5 * (leading.clock + leading.pizza),
        pizza=0.5 * (leading.clock + leading.pizza),
    )
    instances = replace(hybrid.instances, instances=(half, *hybrid.instances.instances[1:]))
    between = replace(hybrid, instances=instances).decide(Thresholds())
    assert between.verdict.forms[0] == between.to_dict()["instances"][0]["form"] == "both"
    assert form_name("both") in between.sentence
    assert f"{form_name('both')}, which explains " in between.verdict.reasons[-3]
    for text in (str(between), between._repr_html_()):
        assert "Clock-Pizza mixture" in text
        assert "both" not in text.replace("both algorithms", "")


def test_instances_that_overlap_are_explained() -> None:
    analysis = analyze(handmade_clock(23))
    overlapping = replace(analysis, instances=replace(analysis.instances, remainder=-0.0189))
    (line,) = [line for line in str(overlapping).splitlines() if "remainder" in line]
    assert line.endswith("-1.9% (instances overlap)")
    rounding = replace(analysis, instances=replace(analysis.instances, remainder=-1e-12))
    (line,) = [line for line in str(rounding).splitlines() if "remainder" in line]
    assert line.endswith(" 0.0%")
