"""What becomes of known networks when something in them is changed."""

import math

import numpy as np
import pytest
import torch

from algophase.analysis.rivals.interventions import NAMES
from algophase.analysis.rivals.outcomes import Answers
from algophase.analysis.rivals.rivals import intervene
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.named_groups import named_group
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.networks.handmade_groups import multiplying_network
from algophase.networks.handmade_rivals import coset_network

S4 = named_group("S4")


def test_signs_do_not_matter_to_an_absolute_value() -> None:
    pizza = handmade_pizza(23)
    assert intervene(pizza, "absolute value").accuracy == 1
    assert intervene(pizza, "both signs flipped").explained == pytest.approx(1)
    assert intervene(pizza, "left sign flipped").accuracy < 0.1


def test_a_clock_needs_its_products_and_their_signs() -> None:
    clock = handmade_clock(23)
    assert intervene(clock, "both signs flipped").explained == pytest.approx(1)
    assert intervene(clock, "without interactions").accuracy < 0.1
    assert intervene(clock, "absolute value").accuracy < 0.5


def test_swapped_operands_are_right_on_pairs_that_commute() -> None:
    commuting = float((S4.table == S4.table.T).mean())
    for network in (coset_network(S4, 6), multiplying_network(S4)):
        assert intervene(network, "embeddings swapped").accuracy == pytest.approx(commuting)


def test_a_representation_is_kept_by_its_name() -> None:
    network = multiplying_network(S4, ["sign", "standard"])
    # Characters have the same norm.
    assert intervene(network, "one representation kept").which in ("sign", "standard")
    alone = intervene(network, "one representation kept", representation="sign")
    assert alone.accuracy <= 1 / 12  # twelve answers are equally likely
    with pytest.raises(InputError, match="those of this network are s"):
        intervene(network, "one representation kept", representation="trivial")
    of_clock = intervene(handmade_clock(23), "one representation kept", representation="k = 5")
    assert of_clock.accuracy == 1


def test_units_of_cosets_are_removed() -> None:
    network = coset_network(S4, 6)
    removed = intervene(network, "units of one coset removed")
    assert removed.which == "order 6, 32 of 32 units"
    assert removed.accuracy == 0
    other = intervene(network, "units of one coset removed", order=4)
    assert "no unit is constant on cosets of subgroups of order 4" in other.impossible
    assert math.isnan(other.accuracy)
    on_prime = intervene(handmade_pizza(23), "units of one coset removed")
    assert "Z23 has no subgroup" in on_prime.impossible


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="intervention is 'rotate'; choose one of absolute value"):
        intervene(handmade_pizza(11), "rotate")
    assert len(NAMES) == 7


@pytest.mark.parametrize("memory", ["1GB", "2MB"])
def test_outcomes_are_those_of_all_logits(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALGOPHASE_MEMORY", memory)
    run = RunSettings(TaskSettings(11), TransformerSettings(width=16, attention_rate=1.0))
    subject = Subject(initialize(run))
    answers = Answers(subject.network, subject.group)
    if memory == "2MB":
        assert len(answers.strips) > 1
    (flipped,) = answers.outcomes([answers.of_tables(-answers.first, answers.second)])
    with torch.no_grad():
        own, changed = (
            subject.network.logits_from_embeddings(
                (sign * answers.first).repeat_interleave(11, 0), answers.second.repeat(11, 1)
            ).numpy()
            for sign in (1, -1)
        )
    right = subject.group.table.ravel()
    assert flipped.accuracy == pytest.approx((changed.argmax(axis=1) == right).mean())
    logs = np.log(np.exp(changed).sum(axis=1)) - changed[np.arange(121), right]
    assert flipped.cross_entropy == pytest.approx(logs.mean())
    own, changed = (y - y.mean(axis=1, keepdims=True) for y in (own, changed))
    own, changed = (y - y.mean(axis=0) for y in (own, changed))
    share = 1 - np.square(own - changed).sum() / np.square(own).sum()
    assert flipped.explained == pytest.approx(share)


def test_sums_in_place_of_what_units_read_give_the_network_itself() -> None:
    subject = Subject(handmade_pizza(11))
    answers = Answers(subject.network, subject.group)
    hidden = answers.required_hidden
    reads = hidden.reads(*answers.pairs(slice(None))).unflatten(0, (11, 11)).detach().numpy()
    by_first, by_second = reads.mean(axis=1), reads.mean(axis=0) - reads.mean(axis=(0, 1))
    outcome, same = answers.outcomes([answers.of_sums(by_first, by_second), answers.own])
    assert outcome.explained == pytest.approx(1)
    assert same.explained == 1
    assert outcome.accuracy == same.accuracy == 1
