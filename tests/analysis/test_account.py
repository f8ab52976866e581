"""Many networks are accounted for as one is, in their order, and what cannot be is named."""

from typing import cast

import pytest
import torch
from made import mixture
from test_device import needs_gpu, networks
from test_instances import found_in

from algophase.analysis.account import Account, account, accounts
from algophase.analysis.answer import AnswerThresholds, decide
from algophase.errors import InputError
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock, handmade_pizza


def test_many_networks_are_accounted_for_in_their_order() -> None:
    every = [handmade_clock(11, (1, 4)), cast(Network, "a/path"), handmade_pizza(13, (1,), accompanied=True)]
    first, second, third = accounts(every)
    assert isinstance(first, Account)
    assert isinstance(third, Account)
    assert (first.answer.sentence, third.answer.sentence) == ("two Clocks", "a Pizza")
    assert isinstance(second, InputError)
    assert "is a path" in str(second)
    with pytest.raises(InputError, match="is a path"):
        account(every[1])


def test_an_account_is_that_of_its_rounds_one_by_one() -> None:
    network = mixture(23, (2,), (5,), 0.6)
    found, measured = found_in(network)
    made = account(network, AnswerThresholds(hybrid_share=0.45))
    assert made.answer.label == "Clock"
    assert decide(made.findings).label == decide(measured).label == "hybrid"
    assert made.instances.additivity == pytest.approx(found.additivity, abs=1e-12)
    assert [each.frequencies for each in made.instances.instances] == [each.frequencies for each in found.instances]


def test_logits_that_are_not_finite_have_no_algorithm() -> None:
    network = handmade_pizza(7, (1,))
    with torch.no_grad():
        network.l1.weight.mul_(1e200)
        network.unembed.weight.mul_(1e200)
    assert account(network).answer.label == "not learned"


@needs_gpu
def test_a_gpu_gives_the_same_accounts() -> None:
    every = networks()
    for one, other in zip(accounts(every, device="cuda"), accounts(every), strict=True):
        assert isinstance(one, Account)
        assert isinstance(other, Account)
        assert one.answer.sentence == other.answer.sentence
        assert one.instances.additivity == pytest.approx(other.instances.additivity, abs=1e-9)
        assert one.program.explained == pytest.approx(other.program.explained, abs=1e-9)
