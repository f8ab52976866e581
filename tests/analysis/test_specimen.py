"""A specimen computes what is shown of a network once, and the same numbers as the functions it
is made of.
"""

import pytest
import torch

from algophase.analysis.analyze import analyze
from algophase.analysis.circles.find import isolate_circles
from algophase.analysis.logits.all_pairs import accuracy, correct_logits, grid_logits
from algophase.analysis.specimen import MOST_ANSWERS, Specimen
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock, handmade_pizza


@pytest.fixture(scope="module")
def pizza() -> Specimen:
    return Specimen(handmade_pizza(13, (1, 3), accompanied=True), name="a Pizza")


def test_its_analysis_is_that_of_analyze(pizza: Specimen) -> None:
    assert pizza.analysis.to_dict() == analyze(pizza.given).to_dict()
    assert pizza.title == "a Pizza: Pizza"


def test_an_analysis_that_is_known_is_taken() -> None:
    network = handmade_clock(11, (2,))
    known = analyze(network)
    assert Specimen(network, known).analysis.metrics is known.metrics


def test_circles_are_numbered_by_size_and_find_their_companions(pizza: Specimen) -> None:
    sizes = [item.circle.variance_share for item in pizza.evidence]
    assert sizes == sorted(sizes, reverse=True)
    assert [pizza.number_of(item) for item in pizza.evidence] == [1, 2, 3, 4]
    for item in pizza.of_role("Pizza"):
        companion = pizza.companion(item)
        assert companion is not None
        assert companion.accompanies == item.circle.frequency


def test_the_whole_network_and_parts_of_it_answer_as_isolation_says(pizza: Specimen) -> None:
    logits = grid_logits(pizza.network)
    assert torch.equal(pizza.whole.correct, correct_logits(logits))
    assert pizza.without([]) is pizza.whole
    first = pizza.evidence[:1]
    for answer, drop in ((pizza.only(first), False), (pizza.without(first), True)):
        isolated = isolate_circles(
            pizza.network, [first[0].circle], drop=drop, principal=pizza.components
        )
        assert answer.accuracy == accuracy(isolated.logits)
        assert torch.equal(answer.correct, correct_logits(isolated.logits))
    assert pizza.only(first) is pizza.only(first)


def test_a_pizza_depends_on_the_difference_and_a_clock_does_not(pizza: Specimen) -> None:
    assert pizza.only(pizza.of_role("Pizza")[:1]).by_difference > 0.999
    assert pizza.whole.accuracies.tolist() == [1.0] * 13
    assert pizza.whole.profile.shape == (13,)


def test_few_answers_are_kept(pizza: Specimen) -> None:
    specimen = Specimen(pizza.given)
    for _ in range(2):
        for item in specimen.evidence:
            specimen.only([item])
    assert len(specimen._answers) == len(specimen.evidence) <= MOST_ANSWERS


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(InputError, match="is a path, not a network"):
        Specimen("model.pt")  # type: ignore[arg-type]


def test_the_network_itself_is_left_as_it_was() -> None:
    network = handmade_clock(7, (1,)).float()
    assert Specimen(network).analysis.verdict.label == analyze(network).verdict.label
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


def test_what_is_large_can_be_forgotten() -> None:
    specimen = Specimen(handmade_clock(7, (1, 2, 3)))
    whole, first = specimen.whole, specimen.evidence[:1]
    held = specimen.isolate(first)
    assert specimen.isolate(first) is held
    specimen.forget_logits()
    assert not {"logits", "right", "similarities"} & vars(specimen).keys()
    assert specimen.whole is whole
    assert specimen.isolate(first) is not held
