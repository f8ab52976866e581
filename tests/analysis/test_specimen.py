import torch

from algophase.analysis.analyze import analyze
from algophase.analysis.circles import isolate_circles
from algophase.analysis.grid import accuracy, correct_logits, grid_logits
from algophase.analysis.specimen import MOST_ANSWERS, Specimen
from algophase.networks.handmade import handmade_clock, handmade_pizza


def test_the_network_itself_is_left_as_it_was() -> None:
    network = handmade_clock(7, (1,)).float()
    assert Specimen(network).analysis.verdict.label == analyze(network).verdict.label
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


def test_answers_are_those_of_isolated_circles() -> None:
    network = handmade_pizza(12, (1, 5), accompanied=True)
    specimen = Specimen(network, name="a pizza")
    assert specimen.title == "a pizza: Pizza"
    assert torch.equal(specimen.whole.correct, correct_logits(grid_logits(specimen.network)))
    for item in specimen.evidence:
        alone, without = (isolate_circles(specimen.network, [item.circle], drop=drop).logits for drop in (False, True))
        assert torch.allclose(specimen.only([item]).correct, correct_logits(alone))
        assert specimen.without([item]).accuracy == accuracy(without)
    assert specimen.without([]) is specimen.whole
    assert specimen.only(specimen.evidence[:1]) is specimen.only(specimen.evidence[:1])


def test_circles_are_numbered_and_know_their_companions() -> None:
    specimen = Specimen(handmade_pizza(12, (1, 5), accompanied=True))
    (companion,) = specimen.of_role("accompanying")
    partner = next(item for item in specimen.evidence if item.circle.frequency == companion.accompanies)
    assert specimen.companion(partner) is companion
    assert [specimen.number_of(item) for item in specimen.evidence] == [1, 2, 3]


def test_what_is_large_can_be_forgotten() -> None:
    specimen = Specimen(handmade_clock(7, (1, 2, 3)))
    whole, first = specimen.whole, specimen.evidence[:1]
    held = specimen.isolate(first)
    assert specimen.isolate(first) is held
    specimen.forget_logits()
    assert not {"logits", "right", "similarities"} & vars(specimen).keys()
    assert specimen.whole is whole
    assert specimen.isolate(first) is not held
    assert len(specimen.evidence) <= MOST_ANSWERS
