from typing import get_args

from algophase.analysis.verdict.decide import Form
from algophase.core.palette import FORMS, OUTCOMES, VERDICTS, kind_of
from algophase.pages.card import COLORED


def test_every_verdict_has_a_color_and_a_marker_of_its_own() -> None:
    assert set(VERDICTS) == set(OUTCOMES) - {"not analyzed"}
    looks = dict(VERDICTS)
    # The same algorithms on other groups: the color of their counterpart, a marker of their own.
    assert looks["multiplying"][0] == looks["Clock"][0]
    assert looks["adding"][0] == looks["Pizza"][0]
    assert len({marker for _, marker in looks.values()}) == len(looks)
    del looks["multiplying"], looks["adding"]
    assert len({color for color, _ in looks.values()}) == len(looks)


def test_every_form_has_a_color_and_a_marker_of_its_own() -> None:
    assert set(FORMS) == {kind_of(form) for form in get_args(Form)}
    colors, markers = zip(*FORMS.values(), strict=True)
    assert len(set(colors)) == len(set(markers)) == len(FORMS)
    assert set(COLORED) < set(FORMS)
