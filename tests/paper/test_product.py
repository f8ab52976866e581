"""What the paper says: numbers are compared to their own digits, shares have counts."""

from algophase.paper.items import ITEMS
from algophase.paper.product import Claim, entries, entry, overall
from algophase.runs.statistics import Share


def test_verdicts_are_counted_in_one_order() -> None:
    claims = tuple(
        Claim("t", "-", "-", verdict)
        for verdict in ("differs", "supported", "reproduced", "supported")
    )
    assert overall(claims) == "1 reproduced, 2 supported, 1 differs"
    assert overall(()) == "made; the paper claims no number or rule for it"


def test_every_item_has_claims_and_every_printed_number_its_digits() -> None:
    assert entries().keys() == ITEMS.keys()
    for claims in entries().values():
        for claim in claims:
            assert claim.text
            assert claim.value is None or claim.published != "-"


def test_numbers_agree_to_half_a_unit_of_their_last_digit() -> None:
    exact, about = entry("model-a-symmetricity"), entry("model-a-circularity")
    assert (exact.published, exact.about) == ("99.37%", False)
    assert exact.agrees(0.99374)
    assert not exact.agrees(0.99376)
    assert about.about  # "around 99.8%"
    assert about.agrees(0.9989)
    assert not about.agrees(0.9992)
    assert entry("share-circular-2-layers").agrees(84 / 844)


def test_a_printed_share_is_known_by_its_counts() -> None:
    assert entry("share-circular-2-layers").share == Share(84, 844)
