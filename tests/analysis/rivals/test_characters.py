"""The part of the logits that is a sum of characters, against projections and known networks."""

import pytest
import torch

from algophase.analysis.rivals.characters import CharacterPart
from algophase.analysis.rivals.outcomes import Answers
from algophase.analysis.rivals.rivals import rivals
from algophase.analysis.subject import Subject
from algophase.core.named_groups import named_group
from algophase.networks.handmade_groups import multiplying_network
from algophase.networks.handmade_rivals import coset_network

S4 = named_group("S4")


def test_characters_are_all_of_a_network_that_multiplies_matrices() -> None:
    account = rivals(multiplying_network(S4))["characters (GCR)"]
    assert account["accuracy of the characters alone"].value == 1
    assert account["accuracy without them"].value < 0.1


def test_the_part_explains_the_share_that_the_actions_say() -> None:
    network = coset_network(S4, 2)
    account = rivals(network)["characters (GCR)"]
    subject = Subject(network)
    answers = Answers(subject.network, S4)
    (outcome,) = answers.outcomes([CharacterPart(answers).alone])
    share = account["logits that are characters of x y z^-1"].value
    offsets = share_of_offsets(answers)
    assert outcome.explained * (1 - offsets) == pytest.approx(share)


@torch.no_grad()
def share_of_offsets(answers: Answers) -> float:
    """The share of the centered logits that is a function of z alone."""
    logits = answers.own(slice(None))
    centered = logits - logits.mean(dim=-1, keepdim=True)
    offsets = centered.mean(dim=(0, 1))
    return float(offsets.square().mean() / centered.square().mean())
