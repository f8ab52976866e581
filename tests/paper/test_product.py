from algophase.paper.product import Claim, overall


def test_verdicts_are_counted_in_one_order() -> None:
    claims = tuple(
        Claim("t", "-", "-", verdict)
        for verdict in ("differs", "supported", "reproduced", "supported")
    )
    assert overall(claims) == "1 reproduced, 2 supported, 1 differs"
    assert overall(()) == "made; the paper claims no number or rule for it"
