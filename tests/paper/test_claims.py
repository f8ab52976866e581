"""Claims as data: every claim names what there is, and a claim is added by text alone."""

import inspect
import string
from pathlib import Path

import pytest
from made_items import write_networks

from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.paper.items import ITEMS
from algophase.paper.measure import QUANTITIES, Spread, is_population, measured
from algophase.paper.product import Entry, entries, read_entries
from algophase.paper.rules import LINES, RULES, judge, judge_all

ALL = [entry for claims in entries().values() for entry in claims]

ADDED = """
[efflc.both-circular]
text = "the embeddings of Models A and B are circles"
population = "model-a, model-b"
quantity = "circularities"
rule = "at least"
line = "circular"
ours = "{value:.2f}"
note = "rule: circularity at least {line}"
"""


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: f"{entry.item}-{entry.name}")
def test_a_claim_names_an_existing_rule_population_and_quantity(entry: Entry) -> None:
    assert entry.item in ITEMS
    assert entry.rule in RULES
    assert is_population(entry.population)
    assert not isinstance(entry.line, str) or entry.line in LINES
    inspect.signature(QUANTITIES[entry.quantity]).bind("population", **entry.arguments)
    assert (entry.value is None) == (entry.step is None)
    for template in (entry.text, entry.published, entry.ours, entry.note):
        list(string.Formatter().parse(template))  # braces are closed


def test_names_are_given_once_per_item() -> None:
    names = [(entry.item, entry.name) for entry in ALL]
    assert len(set(names)) == len(names)


def test_a_claim_is_added_by_its_text_alone(tmp_path: Path) -> None:
    networks = {"model-a": handmade_pizza(13, (1,)), "model-b": handmade_clock(13, (1,))}
    added = read_entries(ADDED)["efflc"]
    (claim,) = judge_all(added, write_networks(tmp_path, networks))
    assert (claim.text, claim.verdict) == (
        "the embeddings of Models A and B are circles",
        "supported",
    )
    assert (claim.ours, claim.note) == ("1.00", "rule: circularity at least 0.995")


def test_what_several_items_say_is_written_once() -> None:
    claims = read_entries(
        '["gelu eqn-sign".same]\ntext = "t"\nrule = "holds"\n'
        'population = "formulas"\nquantity = "circularity"\n'
    )
    assert {label: [entry.item for entry in said] for label, said in claims.items()} == {
        "gelu": ["gelu"],
        "eqn-sign": ["eqn-sign"],
    }


def test_words_of_a_measurement_stand_in_the_text() -> None:
    entry = Entry(
        "efflc", "n", "by {unit}", "above", "formulas", "q", line=0.5, note="{rule}over {line:.0%}"
    )
    claim = judge(entry, measured(Spread((0.6, 0.7)), sample=3, unit="share"))
    assert (claim.text, claim.ours, claim.note) == ("by share", "0.6 to 0.7", "over 50%")
    assert (claim.sample, claim.verdict) == (3, "supported")
    assert judge(entry, measured(None, unit="-")).verdict == "not tested"
