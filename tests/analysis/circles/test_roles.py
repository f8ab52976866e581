import pytest
import torch

from algophase import LinearSettings
from algophase.analysis.circles.find import component_pairs, find_circles, plane
from algophase.analysis.circles.principal import network_components
from algophase.analysis.circles.roles import circle_evidence
from algophase.networks import Network, build
from algophase.networks.handmade import Clock, handmade_clock, handmade_pizza


def evidence_of(network: Network) -> dict[int, tuple[str, int | None]]:
    components = network_components(network)
    found = circle_evidence(network, find_circles(components), components)
    return {item.circle.frequency: (item.role, item.accompanies) for item in found}


def test_roles_of_handmade_networks() -> None:
    assert evidence_of(handmade_clock(59, (3, 8))) == {3: ("Clock", None), 8: ("Clock", None)}
    assert evidence_of(handmade_pizza(59, (3, 8))) == {3: ("Pizza", None), 8: ("Pizza", None)}
    expected = {
        3: ("Pizza", None),
        17: ("Pizza", None),
        6: ("accompanying", 3),
        25: ("accompanying", 17),
    }
    assert evidence_of(handmade_pizza(59, (3, 17), accompanied=True)) == expected


def test_an_even_modulus_has_two_candidates_for_an_accompanying_circle() -> None:
    # 2 * 5 = 10 and 2 * 25 = -10 (mod 60): both could be accompanied by frequency 10, only 25 is
    # there
    assert evidence_of(handmade_pizza(60, (25,), accompanied=True)) == {
        25: ("Pizza", None),
        10: ("accompanying", 25),
    }


def test_weights_are_the_forms_own_and_ignore_what_depends_on_the_label_alone() -> None:
    class Biased(Clock):
        def logits_from_embeddings(self, first, second, cache=None):  # type: ignore[no-untyped-def]
            return super().logits_from_embeddings(first, second, cache) + 100 * torch.linspace(
                -1, 1, self.task.modulus
            )

    plain = handmade_clock(59, (3,))
    biased = Biased(plain.task, plain.settings).double()
    biased.load_state_dict(plain.state_dict())
    components = network_components(biased)
    (item,) = circle_evidence(biased, find_circles(components), components)
    assert item.role == "Clock"
    assert item.clock_weight == pytest.approx(1)
    assert item.pizza_weight == pytest.approx(0, abs=1e-9)
    assert item.explained == pytest.approx(1)
    assert item.fve_clock < -0.9  # the paper's measure sees mostly the bias


@pytest.mark.parametrize(
    "frequency", [3, 17]
)  # 2 x 17 is the circle of 25 gone round the other way
@pytest.mark.parametrize("turn", [1, 7, 10, 20, 29])
def test_turning_one_operands_tables_and_the_answers_alike_changes_nothing(
    frequency: int, turn: int
) -> None:
    pizza = handmade_pizza(59, (frequency,), accompanied=True)
    hidden, width = pizza.l1.weight.shape
    turned = build(pizza.task, LinearSettings("alpha-prime", width, hidden)).double()
    weights = {
        "embed1.weight": pizza.embed.weight.roll(-turn, 0),
        "embed2.weight": pizza.embed.weight,
        "l1.weight": pizza.l1.weight,
        "l1.bias": pizza.l1.bias,
        "unembed.weight": pizza.unembed.weight.roll(-turn, 0),
    }
    turned.load_state_dict(weights)
    seen = []
    for network in (pizza, turned):
        components = network_components(network)
        found = circle_evidence(network, find_circles(components), components)
        seen.append(
            {
                item.circle.frequency: (item.role, item.accompanies, item.accompanying_weight)
                for item in found
            }
        )
    assert seen[1].keys() == seen[0].keys()
    for k, (role, accompanies, weight) in seen[0].items():
        assert seen[1][k][:2] == (role, accompanies)
        assert seen[1][k][2] == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("p", [3, 9, 15, 33])
def test_the_circle_of_a_third_of_the_modulus_is_not_its_own_companion(p: int) -> None:
    assert set(evidence_of(handmade_clock(p, (p // 3,))).values()) == {("Clock", None)}


def test_the_opposite_of_the_accompanying_form_is_no_companion() -> None:
    pizza = handmade_pizza(59, (3,), accompanied=True)
    with torch.no_grad():
        components = network_components(pizza)
        (companion,) = (c for c in find_circles(components) if c.frequency == 6)
        # the hidden units that read the companion write the other way
        reads = (pizza.l1.weight @ plane(components, companion).T).abs().amax(dim=1) > 1e-6
        pizza.unembed.weight[:, reads] *= -1
    assert evidence_of(pizza)[6] != ("accompanying", 3)


@pytest.mark.parametrize("p", [4, 6, 8, 12])
def test_no_form_explains_more_than_all_at_half_of_an_even_modulus(p: int) -> None:
    network = handmade_clock(p, (p // 2, 1))
    components = network_components(network)
    for item in circle_evidence(network, component_pairs(components, 2), components):
        assert item.fve_clock <= 1 + 1e-9
        assert item.explained <= 1 + 1e-9
