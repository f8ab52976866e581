"""Every account accepts its own hand-made network and rejects another's."""

import json
import math
import time
from pathlib import Path

import pytest

from algophase.analysis.rivals.rivals import Rivals, rivals
from algophase.core.errors import InputError
from algophase.core.group import cyclic_group
from algophase.core.named_groups import named_group
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.networks.handmade_groups import adding_network, multiplying_network
from algophase.networks.handmade_rivals import coset_network, lookup_network, rho_set_network
from algophase.storage import load

S4 = named_group("S4")
NETWORKS = {
    "Clock": handmade_clock(23),
    "Pizza": handmade_pizza(23),
    "multiplied matrices": multiplying_network(S4),
    "added vectors": adding_network(S4),
    "cosets": coset_network(S4, 2),
    "cosets of one representation": coset_network(S4, 6),
    "rho-set": rho_set_network(S4, "standard"),
    "rho-set without stabilizers": rho_set_network(S4, "standard", generic=True),
    "lookup": lookup_network(S4),
    "lookup on Z13": lookup_network(cyclic_group(13)),
}
# The account, a network it must accept, one it must reject.
PAIRS = [
    ("Clock", "Clock", "Pizza"),
    ("Clock", "multiplied matrices", "added vectors"),
    ("Pizza", "Pizza", "Clock"),
    ("Pizza", "added vectors", "multiplied matrices"),
    ("characters (GCR)", "multiplied matrices", "cosets"),
    ("characters (GCR)", "Clock", "lookup on Z13"),
    ("characters (GCR)", "added vectors", "lookup"),
    ("coset circuits", "cosets", "rho-set without stabilizers"),
    ("coset circuits", "cosets of one representation", "multiplied matrices"),
    ("rho-sets", "rho-set", "cosets"),
    ("rho-sets", "rho-set without stabilizers", "lookup"),
    ("approximate cosets", "Pizza", "lookup on Z13"),
    ("approximate cosets", "Pizza", "Clock"),
    ("lookup", "lookup", "rho-set"),
    ("lookup", "lookup on Z13", "Pizza"),
]


@pytest.fixture(scope="module")
def results() -> dict[str, Rivals]:
    return {name: rivals(network) for name, network in NETWORKS.items()}


@pytest.mark.parametrize(("account", "accepted", "rejected"), PAIRS)
def test_an_account_accepts_one_network_and_rejects_another(
    results: dict[str, Rivals], account: str, accepted: str, rejected: str
) -> None:
    assert results[accepted][account].passes is True, results[accepted]
    assert results[rejected][account].passes is False, results[rejected]


def test_every_account_has_its_pair(results: dict[str, Rivals]) -> None:
    names = {account.name for account in results["Clock"].accounts}
    assert names == {account for account, _, _ in PAIRS}


def test_an_account_says_nothing_where_it_is_not_defined(results: dict[str, Rivals]) -> None:
    on_prime, on_s4 = results["Pizza"]["coset circuits"], results["cosets"]["approximate cosets"]
    assert on_prime.passes is None
    assert on_prime.undefined == "Z23 has no subgroup but itself and the identity"
    assert on_s4.passes is None
    assert "S4 does not commute" in on_s4.undefined


def test_a_line_that_chance_reaches_is_said_to_tell_nothing(results: dict[str, Rivals]) -> None:
    """In one dimension every function has rank one."""
    measure = results["Pizza"]["rho-sets"].measures[0]
    assert measure.by_chance == pytest.approx(1)
    assert measure.passes
    assert not measure.discriminates
    assert measure.outcome == results["Pizza"]["rho-sets"].outcome == "by chance"
    lines = str(results["Pizza"]).splitlines()
    assert any("rho-sets" in line and line.endswith("BY CHANCE") for line in lines)


def test_dihedral_groups_have_too_many_axes_for_cosets() -> None:
    """Every vector of the plane is near an axis of reflection."""
    group = named_group("D17")
    measure = rivals(rho_set_network(group, "2.1"))["coset circuits"].measures[0]
    assert measure.by_chance > 0.9
    assert not measure.discriminates


def test_a_rho_set_has_as_many_vectors_as_its_orbit(results: dict[str, Rivals]) -> None:
    (details,) = results["rho-set"]["rho-sets"].details
    assert (details["representation"], details["vectors"]) == ("standard", 4)
    assert details["units_of_a_full_circuit"] == details["units"] == 16
    account = results["rho-set"]["rho-sets"]
    for measure in account.measures:
        assert measure.value == pytest.approx(1, abs=1e-6)


def test_the_record_is_json_and_has_what_is_printed(results: dict[str, Rivals]) -> None:
    for result in results.values():
        record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert tuple(record["passing"]) == result.passing
        text = str(result)
        for account in record["accounts"]:
            assert account["name"] in text
            for measure in account["measures"]:
                assert measure["name"] in text


def test_accounts_and_measures_go_by_their_names(results: dict[str, Rivals]) -> None:
    result = results["cosets"]
    assert result["coset circuits"]["median C_H"].value == pytest.approx(0, abs=1e-9)
    with pytest.raises(KeyError, match="choose one of"):
        result["angels"]
    assert repr(result["rho-sets"]) == "<Account rho-sets: fails>"


def test_accounts_of_units_say_nothing_without_units() -> None:
    network = handmade_clock(11)
    network.hidden_reads = lambda: None  # type: ignore[method-assign, assignment, return-value]
    result = rivals(network)
    assert result["approximate cosets"].passes is None
    assert result["characters (GCR)"].passes is True
    assert math.isnan(result.interventions[0].accuracy)


def test_a_network_without_its_code_is_refused() -> None:
    network = handmade_clock(11)
    from algophase.analysis.analyze import analyze

    network.known_analysis = analyze(network).without_subject()
    with pytest.raises(InputError, match="not its code"):
        rivals(network)


@pytest.mark.slow
def test_published_networks_on_s5(foreign: Path) -> None:
    """Two tables for both sides: 31 units of the standard representation on five vectors."""
    began = time.monotonic()
    result = rivals(load(foreign / "groups" / "S5_MLP_seed1.pt"))
    assert time.monotonic() - began < 60
    assert set(result.passing) == {"Pizza", "coset circuits", "rho-sets"}
    assert result["characters (GCR)"].measures[0].value == pytest.approx(0.3905, abs=1e-3)
    by_name = {detail["representation"]: detail for detail in result["rho-sets"].details}
    assert by_name["standard"]["vectors"] == 5
    outcomes = {one.name: one.accuracy for one in result.interventions}
    assert outcomes["absolute value"] == outcomes["both signs flipped"] == 1
    assert outcomes["left sign flipped"] < 0.01
    # Pairs that commute: as many classes as there are, over the order.
    assert outcomes["embeddings swapped"] == pytest.approx(7 / 120, abs=2e-3)
