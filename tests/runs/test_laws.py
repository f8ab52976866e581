"""Laws of selection on made-up sets of key frequencies whose answer is known."""

import json
import math
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from commands import call, invoke
from runs_made import row, sweep_of

from algophase.core.errors import InputError
from algophase.core.relations import RELATIONS, relation_counts
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.runs import law_tests, relation_laws
from algophase.runs.law_tests import KeySets, Law, equal_law, key_sets, number_law, start_laws
from algophase.runs.laws import relations_in, selection_laws
from algophase.runs.relation_laws import compared_with_chance, relation_law
from algophase.runs.runs import Runs
from algophase.runs.starts import initial_powers
from algophase.sweeps.spaces import Space

P, COUNT = 23, 11  # doubling goes once around all 11 frequencies


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DRAWS": 600, "SIMULATIONS": 60, "POOL": 1000, "RESAMPLES": 50}.items():
        monkeypatch.setattr(law_tests, name, value)


def doubling_law(groups: list[KeySets], level: float, seed: int = 0) -> Law:
    law = relation_law(groups, "2i = j", level, seed)
    assert law is not None
    return law


def uniform_sets(networks: int, seed: int, modulus: int = P) -> KeySets:
    random = np.random.default_rng(seed)
    empty = KeySets(modulus, np.zeros((0, modulus // 2), dtype=bool))
    return KeySets(modulus, empty.drawn(random.integers(2, 6, networks), random))


def planted(networks: int, seed: int, preference: float) -> KeySets:
    """Sets that are `preference` times as likely for each pair k, 2k."""
    sets, random = uniform_sets(20 * networks, seed), np.random.default_rng(seed)
    weights = preference ** sets.pairs(sets.member)
    return KeySets(
        P, sets.member[random.choice(len(sets.member), networks, p=weights / weights.sum())]
    )


def test_pairs_are_counted_up_to_sign() -> None:
    sets = key_sets(
        11, [(1, 2), (3, 5), (1, 2, 4), (1, 3), (4, 3, 5)]
    )  # 2 * 3 = -5, 2 * 4 = -3 modulo 11
    assert sets.pairs(sets.member).tolist() == [1, 1, 2, 0, 2]
    assert sets.pairs(sets.member, 3).tolist() == [0, 0, 1, 1, 1]  # 3 * 4 = 1, 3 * 5 = 4, 3 * 1 = 3
    with pytest.raises(InputError, match=r"modulo 11 .*\[1, 6\]; .*1 to 5"):
        key_sets(11, [(1, 6)])


@pytest.mark.parametrize("law", [doubling_law, equal_law])
def test_without_a_law_p_values_are_uniform(law: Any) -> None:
    from scipy.stats import kstest

    p_values = [law([uniform_sets(60, seed)], 0.01, seed).p_value for seed in range(40)]
    assert kstest(p_values, "uniform").pvalue > 0.001
    assert sum(p < 0.05 for p in p_values) <= 7  # 2 expected; 8 or more has a chance of 0.1%


@pytest.mark.parametrize("modulus", [13, 12, 15])
@pytest.mark.parametrize("name", RELATIONS)
def test_chance_is_that_of_all_sets_with_as_many_frequencies_of_each_gcd(
    name: str, modulus: int
) -> None:
    """By the definition: the mean over every such set, relations counted with loops."""

    def related(keys: tuple[int, ...]) -> int:
        coefficients = RELATIONS[name]
        ways = set()
        for chosen in permutations(keys, len(coefficients)):
            for signs in product((1, -1), repeat=len(coefficients)):
                terms = zip(signs, coefficients, chosen, strict=True)
                if sum(sign * factor * k for sign, factor, k in terms) % modulus == 0:
                    ways.add(tuple(sorted(zip(coefficients, chosen, strict=True))))
        return len(ways)

    keys = tuple(range(2, 7))
    gcds = sorted(math.gcd(k, modulus) for k in keys)
    every_set = combinations(range(1, modulus // 2 + 1), len(keys))
    alike = [related(s) for s in every_set if sorted(math.gcd(k, modulus) for k in s) == gcds]
    compared = compared_with_chance([key_sets(modulus, [keys])], name)
    assert compared.observed == related(keys)
    assert compared.chance == pytest.approx(sum(alike) / len(alike))


def test_sets_without_sums_are_found_and_an_interval_of_none_has_a_width() -> None:
    sets = uniform_sets(2000, 3)
    sums = relation_counts_of(sets)
    sum_free = KeySets(P, sets.member[sums == 0][:300])
    law = relation_law([sum_free], "i + j = l", 0.01)
    assert law is not None
    assert law.p_value < 0.01
    assert law.value == 0.0
    assert law.interval is not None
    assert 0 < law.interval[1] < 0.1
    pairs = key_sets(P, [(1, 5)] * 30)
    assert relation_law([pairs], "i + j = l", 0.01) is None


def relation_counts_of(sets: KeySets) -> Any:
    counts = []
    for member in sets.member:
        frequencies = member.nonzero()[0][None] + 1
        counts.append(relation_counts(frequencies, P, (1, 1, 1))[0])
    return np.array(counts)


@pytest.mark.parametrize("preference", [0.5, 2.0])
def test_a_planted_doubling_is_found_with_its_sign(preference: float) -> None:
    law = doubling_law([planted(300, 1, preference)], 0.01)
    assert law.interval is not None
    assert law.p_value < 0.01
    assert (law.value > 1) == (preference > 1)
    assert law.interval[0] < law.value < law.interval[1]
    assert not law.interval[0] < 1 < law.interval[1]


def test_doubling_does_not_make_frequencies_unequal() -> None:
    """Every network has some k and 2k: as far from independent as can be, and yet all k are
    equally likely.
    """
    random = np.random.default_rng(0)
    keys = [(k, min(2 * k % P, -2 * k % P)) for k in random.integers(1, COUNT + 1, 300).tolist()]
    assert equal_law([key_sets(P, keys)], 0.01).p_value > 0.01
    assert doubling_law([key_sets(P, keys)], 0.01).p_value < 0.01


def test_a_planted_preference_of_frequencies_is_found() -> None:
    sets, random = uniform_sets(300, 0), np.random.default_rng(0)
    likely = KeySets(
        P, sets.drawn(sets.sizes, random, np.log(np.where(np.arange(COUNT) < 5, 2.0, 1.0)))
    )
    law = equal_law([likely, uniform_sets(50, 1, 29)], 0.01)
    assert law.p_value < 0.01
    assert law.value > law.chance
    assert law.runs == 350


def test_powers_know_the_size_of_the_effect_and_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = ([uniform_sets(count, 2)] for count in (30, 500))
    assert doubling_law(few, 0.01).power < doubling_law(many, 0.01).power
    assert equal_law(few, 0.01).power < equal_law(many, 0.01).power
    monkeypatch.setattr(relation_laws, "MORE", 1.0)
    monkeypatch.setattr(law_tests, "LIKELIER", 1.0)
    assert doubling_law(many, 0.05).power < 0.2  # of no effect, the level
    assert equal_law(many, 0.05).power < 0.2


def test_the_number_of_keys_goes_with_a_planted_setting() -> None:
    random = np.random.default_rng(0)
    rates = random.uniform(size=400)
    follows = random.poisson(3 - 2 * rates) + 1
    law = number_law(rates, follows, "attention_rate", 0.01)
    assert law.p_value < 0.01
    assert law.interval is not None
    assert law.interval[1] < 0 > law.value
    assert len(law.details) == 5
    assert law.details[0].startswith("attention rate 0.0")
    assert number_law(rates, random.permutation(follows), "attention_rate", 0.01).p_value > 0.01
    assert number_law(rates, np.full(400, 3), "attention_rate", 0.01).p_value == 1.0
    assert number_law(rates[:25], follows[:25], "attention_rate", 0.01).power < law.power


def test_a_start_that_decides_is_found_and_one_that_does_not_is_not() -> None:
    random = np.random.default_rng(0)
    starts = [
        {"W_E": random.normal(size=COUNT), "W_U": random.normal(size=COUNT)} for _ in range(100)
    ]
    keys = [tuple(int(k) + 1 for k in start["W_E"].argsort()[-3:]) for start in starts]
    decides, silent = start_laws(starts, keys, 0.01)
    assert (decides.value, decides.p_value < 1e-10) == (1.0, True)
    assert "is a key in 100.0%" in decides.details[0]
    assert silent.p_value > 0.01
    assert abs(silent.value - 0.5) < 0.06
    everything = [tuple(range(1, COUNT + 1)), *keys[1:]]  # says nothing about its start
    assert start_laws(starts, everything, 0.01)[0].runs == 99


@pytest.mark.parametrize(
    "run",
    [
        RunSettings(TaskSettings(11), TransformerSettings(8), seed=3),
        RunSettings(TaskSettings.multiplication(11), TransformerSettings(8), seed=3),
        RunSettings(
            TaskSettings(11, separate_vocabularies=True, equals_sign=True),
            TransformerSettings(8),
            seed=3,
        ),
        RunSettings(TaskSettings(11), LinearSettings("alpha-prime", 8, 8), seed=3),
    ],
)
def test_powers_are_those_of_the_tables_in_the_order_in_which_numbers_add(run: RunSettings) -> None:
    network, p, found = initialize(run), run.task.modulus, initial_powers(run)
    counts = run.task.elements
    weights = {name: value.detach().double().numpy() for name, value in network.named_parameters()}
    answers = weights["unembed.W_U"].T if "unembed.W_U" in weights else weights["unembed.weight"]
    tables = [*(table.detach().double().numpy() for table in network.operand_tables()), answers[:p]]

    def power(place: int, k: int) -> float:
        return float(
            (np.abs(np.exp(2j * np.pi * k * counts[place] / p) @ tables[place]) ** 2).sum()
        )

    embedding, unembedding = (
        np.array([sum(power(place, k) for place in places) for k in range(1, p // 2 + 1)])
        for places in ((0, 1), (2,))
    )
    np.testing.assert_allclose(found["W_U"], unembedding / unembedding.mean(), rtol=1e-9)
    if len(network.distinct_tables()) == 1 and counts[0] is counts[1]:
        np.testing.assert_allclose(found["W_E"], embedding / embedding.mean(), rtol=1e-9)
    assert found["W_E"].shape == (p // 2,)


def made(
    networks: int = 60, modulus: int = P, column: str = "program.frequencies", **more: Any
) -> pandas.DataFrame:
    member = uniform_sets(networks, 5, modulus).member
    keys = [[int(k) + 1 for k in each.nonzero()[0]] for each in member]
    return pandas.DataFrame(
        {
            "validation_accuracy": 1.0,
            "modulus": modulus,
            "kind": "transformer",
            column: keys,
            **more,
        }
    )


def test_a_table_is_tested_as_far_as_it_goes() -> None:
    frame = pandas.concat([made(), made(30, modulus=25), made(5).assign(validation_accuracy=0.9)])
    laws = selection_laws(Runs.of(frame, "made"), starts=False)
    names = [law.name for law in laws.laws]
    assert names == ["number and modulus", "equal", *RELATIONS]
    by_name = {law.name: law.runs for law in laws.laws}
    assert (by_name["number and modulus"], by_name["equal"]) == (90, 60)
    # Not all networks can have a sum, which needs three keys; at 25, some cannot have a double.
    assert by_name["i + j = l"] < by_name["2i = j"] < 90
    assert laws.notes == (
        "equal and start, for 30 networks with a composite modulus: their frequencies are not "
        "equally likely",
    )
    text = str(laws)
    assert text.index("stated before looking") < text.index("results, with 95% intervals")
    assert "no evidence" in text
    assert all(law.corrected >= law.p_value for law in laws.laws)
    assert sum(laws.sizes.values()) == laws.runs == 90
    alone = made().assign(**{"program.frequencies": [[1 + place % COUNT] for place in range(60)]})
    single = selection_laws(Runs.of(alone, "made"), starts=False)
    assert [law.name for law in single.laws] == ["equal"]


def test_networks_without_a_setting_are_left_out_of_its_test() -> None:
    """Of a folder of networks, some have no attention rate, and many have the same."""
    some = made(40).assign(attention_rate=[1.0] * 28 + [rate / 20 for rate in range(12)])
    frame = pandas.concat([some, made(15, kind="mlp")])
    laws = selection_laws(Runs.of(frame, "made"), starts=False)
    by_name = {law.name: law for law in laws.laws}
    assert by_name["number and attention rate"].runs == 40
    assert not math.isnan(by_name["number and attention rate"].value)
    assert laws.notes[0] == (
        "number and attention rate, for 15 networks without a known attention rate"
    )
    few = pandas.concat([made(19).assign(attention_rate=np.linspace(0, 1, 19)), made(15)])
    names = [law.name for law in selection_laws(Runs.of(few, "made"), starts=False).laws]
    assert "number and attention rate" not in names


def test_networks_from_files_have_no_known_start() -> None:
    """Of one with an unknown attention rate, the shares of its keys are unknown."""
    frame = made(survey_digest="0")
    frame["program.frequency_shares"] = [[1.0] * len(keys) for keys in frame["program.frequencies"]]
    frame.at[3, "program.frequency_shares"] = None
    laws = selection_laws(Runs.of(frame, "made"))
    assert laws.notes[0] == "start: nobody knows the initial weights of networks from files"
    assert not any("start" in law.name for law in laws.laws)


def test_circles_without_companions_stand_in_for_keys() -> None:
    frame = made(column="circles.frequency")
    frame["circles.role"] = [
        ["accompanying", *["Pizza"] * (len(each) - 1)] for each in frame["circles.frequency"]
    ]
    laws = selection_laws(Runs.of(frame, "made"), starts=False)
    assert laws.source == "circles.frequency"
    assert [law.name for law in laws.laws] == ["equal"]
    assert max(laws.sizes) == frame["circles.frequency"].map(len).max() - 1
    assert laws.notes[0].startswith("relations: a Pizza's companion has twice its frequency")


def test_what_cannot_be_tested_is_said() -> None:
    with pytest.raises(InputError, match=r"made has 3 .*at least 20"):
        selection_laws(Runs.of(made(3), "made"))
    with pytest.raises(InputError, match=r"level is 1.5; .*between 0 and 1"):
        selection_laws(Runs.of(made(), "made"), level=1.5)
    with pytest.raises(InputError, match=r"made has no column circles.frequency, circles.role"):
        selection_laws(Runs.of(made().drop(columns="program.frequencies"), "made"))


def test_the_command_states_tests_and_finds(tmp_path: Path) -> None:
    space = Space.from_dict({"name": "small", "task": {"modulus": P}, "network": {"width": 8}})
    random = np.random.default_rng(0)
    rows = []
    for index in range(30):
        strongest = initial_powers(space.run(index))["W_E"].argsort()[-2:] + 1
        keys = sorted({*strongest.tolist(), int(random.integers(1, COUNT + 1))})
        rows.append({**row(index, space), "program.frequencies": keys})
    sweep_of(tmp_path / "sweep", rows, space=space)
    done = call("laws", tmp_path / "sweep")
    assert done.returncode == 0, done.stderr
    assert "start of W_E" in done.stdout
    found = json.loads(invoke("laws", tmp_path / "sweep", "--json").output)
    answers = {law["name"]: law["answer"] for law in found["laws"]}
    assert answers["start of W_E"] == "a law"
    assert answers["equal"] == "no evidence"
    assert not any(
        isinstance(law["power"], float) and math.isnan(law["power"]) for law in found["laws"]
    )
    assert "start of W_E" not in call("laws", tmp_path / "sweep", "--no-starts").stdout


def test_relations_need_programs_and_no_circle_stands_in_for_a_key() -> None:
    runs = Runs.read("gelu")
    without = Runs.of(runs.frame.drop(columns=["program.frequencies"]), "circles alone")
    assert relations_in(runs, "i + j = l").value < 0.1
    for least in (0.0, 0.05):
        with pytest.raises(InputError, match=r"no column program\.frequencies"):
            relations_in(without, "i + j = l", least)
