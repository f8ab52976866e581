"""The paper's printed numbers: each names its item, and is compared to its own digits."""

from algophase.paper.items import ITEMS
from algophase.paper.published import number, numbers


def test_every_number_names_an_item_and_its_place() -> None:
    assert {entry.label for entry in numbers().values()} <= ITEMS.keys()
    assert all(entry.place and entry.text and entry.printed for entry in numbers().values())


def test_numbers_agree_to_half_a_unit_of_their_last_digit() -> None:
    exact, about = number("model-a-symmetricity"), number("model-a-circularity")
    assert (exact.printed, exact.about) == ("99.37%", False)
    assert exact.agrees(0.99374)
    assert not exact.agrees(0.99376)
    assert about.about  # "around 99.8%"
    assert about.agrees(0.9989)
    assert not about.agrees(0.9992)
    assert number("share-circular-2-layers").agrees(84 / 844)
