import pytest
import torch

from algophase.analysis.circles import find_circles
from algophase.analysis.evidence import circle_evidence
from algophase.analysis.principal import network_components
from algophase.networks import Network
from algophase.networks.handmade import Clock, handmade_clock, handmade_pizza


def evidence_of(network: Network) -> dict[int, tuple[str, int | None]]:
    components = network_components(network)
    found = circle_evidence(network, find_circles(components), components)
    return {item.circle.frequency: (item.role, item.accompanies) for item in found}


def test_roles_of_handmade_networks() -> None:
    assert evidence_of(handmade_clock(59, (3, 8))) == {3: ("Clock", None), 8: ("Clock", None)}
    assert evidence_of(handmade_pizza(59, (3, 8))) == {3: ("Pizza", None), 8: ("Pizza", None)}
    expected = {3: ("Pizza", None), 17: ("Pizza", None), 6: ("accompanying", 3), 25: ("accompanying", 17)}
    assert evidence_of(handmade_pizza(59, (3, 17), accompanied=True)) == expected


def test_an_even_modulus_has_two_candidates_for_an_accompanying_circle() -> None:
    # 2 * 5 = 10 and 2 * 25 = -10 (mod 60): both could be accompanied by frequency 10, only 25 is there
    assert evidence_of(handmade_pizza(60, (25,), accompanied=True)) == {25: ("Pizza", None), 10: ("accompanying", 25)}


def test_weights_are_the_forms_own_and_ignore_what_depends_on_the_label_alone() -> None:
    class Biased(Clock):
        def logits_from_embeddings(self, first, second, cache=None):  # type: ignore[no-untyped-def]
            return super().logits_from_embeddings(first, second, cache) + 100 * torch.linspace(-1, 1, self.task.modulus)

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
