"""The readout of a linear Pizza: the printed lists, and what the released network makes of them."""

from made_items import verdicts

from algophase.paper.make import Made
from algophase.paper.product import entry
from algophase.paper.readout import printed_coefficients


def test_the_released_readout_is_the_printed_one(published: dict[str, Made]) -> None:
    claims = {claim.text: claim for claim in published["approx2"].claims}
    numbers = [
        claims[entry(name).text]
        for name in ("beta-columns", "beta-readout-amplitude", "beta-readout-phase")
    ]
    assert [claim.ours for claim in numbers] == ["44", "7.62", "2.04"]
    expected = [
        *["reproduced"] * 3,
        *["supported"] * 3,
        "not supported",
        "supported",
        "supported",
        "differs",
    ]
    assert verdicts(published["approx2"]) == [
        *expected,
        "paper contradicts itself",
        "supported",
        "reproduced",
        "differs",
    ]
    # One ReLU is half an absolute value; 8 is the readout on the unit circle, of pairs it is nearly
    # twice that.
    assert claims["after the ReLU each entry is an absolute value ..."].verdict == "not supported"
    assert claims[entry("beta-pair-amplitude").text].ours == "14.1"
    biases, coefficients = published["approx2"].claims[-2:]
    assert biases.ours == "44 equal"
    # The printed lists are centered by the mean of the embedding, which the text does not say.
    assert coefficients.ours == "0 equal, largest difference 0.0043"
    assert "129 are equal and the largest difference is 0.00054" in coefficients.note


def test_the_printed_lists_are_read_whole() -> None:
    printed = printed_coefficients()
    assert printed.shape == (44, 4)
    assert printed[0].tolist() == [0.530, -1.135, 0.253, 1.326]
    assert printed[-1].tolist() == [-0.956, -0.581, 0.223, -1.248]
